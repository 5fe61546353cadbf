// SPDX-License-Identifier: Apache-2.0
// Long lists, far ranges and memory of the host on the software Metal.
#include <gtest/gtest.h>

#include <sys/mman.h>

#include <array>
#include <cstring>
#include <random>

#include "metal_device_test.hpp"
#include "pianola/pianola.hpp"
#include "sim_metal.hpp"

namespace pianola::metal_test {
namespace {

/// Pages that cost nothing until they are touched.
class Pages {
 public:
  explicit Pages(size_t size)
      : size_(size),
        at_(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  ~Pages() { munmap(at_, size_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  uint8_t* data() const { return static_cast<uint8_t*>(at_); }

 private:
  size_t size_;
  void* at_;
};

class MetalCases : public MetalDeviceTest {};

constexpr size_t buffer_total = 12;
constexpr uint32_t elements = 96;
using Contents = std::array<std::vector<uint32_t>, buffer_total>;

/// 1,000 dispatches of integer kernels over a dozen buffers; every order is left to the plan.
Result<CommandBuffer> record_thousand(const KernelLibrary& kernels) {
  std::mt19937 random(1000);
  Recorder rec;
  std::vector<BufferRef> slots;
  for (size_t i = 0; i < buffer_total; ++i) slots.push_back(rec.buffer(std::to_string(i), 4 * elements));
  for (int i = 0; i < 1000; ++i) {
    const auto pick = [&] { return slots[random() % buffer_total]; };
    const BufferRef to = pick();
    BufferRef a = pick();
    BufferRef b = pick();
    while (a.slot == to.slot) a = pick();
    while (b.slot == to.slot) b = pick();
    const auto factor = static_cast<uint32_t>(random());
    if (random() % 3 == 0) {
      rec.dispatch(kernels["multiply_add"], {.groups = {2}, .constants = {factor, 7U, elements}, .bindings = {to}});
    } else {
      rec.dispatch(kernels["combine"], {.groups = {2}, .constants = {factor, elements}, .bindings = {a, b, to}});
    }
  }
  return rec.finish();
}

Result<Contents> run_thousand(const Device& device, const CommandBuffer& commands, uint32_t replays) {
  std::vector<Buffer> buffers;
  InstantiateOptions options;
  options.plan.ordering = Ordering::inferred;
  for (uint32_t i = 0; i < buffer_total; ++i) {
    auto buffer = device.allocate(4 * elements);
    if (!buffer) return buffer.error();
    if (auto done = buffer->write(0, std::vector<uint32_t>(elements, i + 1)); !done) return done.error();
    buffers.push_back(*buffer);
    options.bindings.push_back({std::to_string(i), *buffer});
  }
  auto graph = device.instantiate(commands, options);
  if (!graph) return graph.error();
  for (uint32_t i = 0; i < replays; ++i) {
    auto submission = device.queue().submit(*graph);
    if (!submission) return submission.error();
    if (auto done = submission->wait(); !done) return done.error();
  }
  Contents contents;
  for (size_t i = 0; i < buffer_total; ++i) {
    contents[i].resize(elements);
    if (auto done = buffers[i].read(0, contents[i]); !done) return done.error();
  }
  return contents;
}

}  // namespace

TEST_F(MetalCases, AThousandDispatchesLeaveTheCpusBytes) {
  const auto kernels = KernelLibrary::load(PIANOLA_TEST_KERNELS);
  ASSERT_TRUE(kernels) << to_string(kernels.error());
  const auto commands = record_thousand(*kernels);
  ASSERT_TRUE(commands) << to_string(commands.error());
  const auto cpu = Device::open("cpu", {.serial = true});
  ASSERT_TRUE(cpu);
  const auto wanted = run_thousand(*cpu, *commands, 2);
  ASSERT_TRUE(wanted) << to_string(wanted.error());
  for (const bool is_apple : {false, true}) {
    for (const bool is_unified : {true, false}) {
      for (uint32_t seed = 1; seed <= 5; ++seed) {
        using enum sim_metal::AlignmentRule;
        sim_metal::configure({.alignment = is_apple ? apple : mac, .unified_memory = is_unified, .seed = seed});
        device = *Device::open("metal");
        const auto got = run_thousand(device, *commands, 2);
        ASSERT_TRUE(got) << to_string(got.error());
        ASSERT_EQ(*got, *wanted) << "seed " << seed << (is_apple ? ", Apple" : "") << (is_unified ? "" : ", discrete");
      }
    }
  }
}

// S3
TEST_F(MetalCases, RangesPastFourGibibytesAreReachedByBlitsAndKernels) {
  constexpr uint64_t far = uint64_t{4} << 30;
  constexpr uint64_t size = far + (1 << 20);
  for (const auto alignment : {sim_metal::AlignmentRule::mac, sim_metal::AlignmentRule::apple}) {
    sim_metal::configure({.alignment = alignment});
    device = *Device::open("metal");
    const Pages pages(size);
    const auto memory = Buffer::import(device, {.pointer = pages.data(), .size = size});
    ASSERT_TRUE(memory) << to_string(memory.error());
    Recorder rec;
    const auto x = rec.buffer(*memory);
    rec.fill(x.view(far + 1, 3), uint8_t{7}).fill(x.view(far + 4096, 1 << 19), uint8_t{9}).barrier();
    rec.copy(x.view(5, 3), x.view(far + 1, 3)).copy(x.view(64, 256), x.view(far + 4096, 256));
    rec.copy(x.view(far + 65, 2), x.view(far + 2, 2));
    const auto submission = device.queue().run(*rec.finish());
    ASSERT_TRUE(submission && submission->wait());
    const uint8_t* at = pages.data();
    EXPECT_EQ(std::vector<uint8_t>(at + 4, at + 9), (std::vector<uint8_t>{0, 7, 7, 7, 0}));
    EXPECT_EQ(std::vector<uint8_t>(at + 64, at + 320), std::vector<uint8_t>(256, 9));
    EXPECT_EQ(std::vector<uint8_t>(at + far, at + far + 5), (std::vector<uint8_t>{0, 7, 7, 7, 0}));
    EXPECT_EQ(std::vector<uint8_t>(at + far + 64, at + far + 68), (std::vector<uint8_t>{0, 7, 7, 0}));
  }
}

// O12: whatever the transfer becomes, the barrier after it also orders the dispatch before it
TEST_F(MetalCases, UnrelatedTransfersBeforeTheBarrierDoNotHideTheDispatch) {
  const auto kernels = KernelLibrary::load(PIANOLA_TEST_KERNELS);
  ASSERT_TRUE(kernels) << to_string(kernels.error());
  constexpr uint64_t large = uint64_t{8} << 20;
  const std::vector<uint32_t> values(64, 5);
  Buffer x = *device.allocate(256), y = *device.allocate(256), z = *device.allocate(256);
  const Buffer other = *device.allocate(large), source = *device.allocate(large);
  ASSERT_TRUE(x.write(0, values));
  for (const uint64_t size : {uint64_t{5}, uint64_t{256}, large}) {
    for (const auto* kind : {"fill", "copy", "update"}) {
      for (const bool transfer_first : {false, true}) {
        Recorder rec;
        const BufferRef to = rec.buffer(other).view(0, size);
        const auto transfer = [&] {
          if (kind == std::string_view("fill")) rec.fill(to, uint8_t{1});
          if (kind == std::string_view("copy")) rec.copy(to, rec.buffer(source).view(0, size));
          if (kind == std::string_view("update")) rec.update(to, std::vector<std::byte>(size));
        };
        if (transfer_first) transfer();
        rec.dispatch((*kernels)["copy_elements"], {.constants = {64U}, .bindings = {rec.buffer(x), rec.buffer(y)}});
        if (!transfer_first) transfer();
        rec.barrier().dispatch((*kernels)["copy_elements"],
                               {.constants = {64U}, .bindings = {rec.buffer(y), rec.buffer(z)}});
        ASSERT_TRUE(y.write(0, std::vector<uint32_t>(64)) && z.write(0, std::vector<uint32_t>(64)));
        const auto graph = device.instantiate(*rec.finish());
        ASSERT_TRUE(graph);
        const bool has_blit = graph->native_description().find(" 0 blits") == std::string::npos;
        EXPECT_EQ(has_blit, size == large) << graph->native_description();
        ASSERT_TRUE((*device.queue().submit(*graph)).wait());
        std::vector<uint32_t> got(64);
        ASSERT_TRUE(z.read(0, got));
        EXPECT_EQ(got, values) << kind << " of " << size;
      }
    }
  }
}

TEST_F(MetalCases, HostMemoryIsImportedFromTheStartOfAPageOn) {
  const Pages pages(8192);
  std::memset(pages.data(), 1, 8192);
  auto owner = std::make_shared<int>(0);
  {
    const auto memory = Buffer::import(device, {.pointer = pages.data(), .size = 5001, .owner = owner});
    ASSERT_TRUE(memory) << to_string(memory.error());
    EXPECT_EQ(memory->size(), 5001U);
    Recorder rec;
    rec.fill(rec.buffer(*memory), uint8_t{2});
    ASSERT_TRUE((*device.queue().run(*rec.finish())).wait());
    EXPECT_EQ(owner.use_count(), 2);
  }
  ASSERT_TRUE(device.queue().wait_idle());
  EXPECT_EQ(owner.use_count(), 1);
  EXPECT_EQ(pages.data()[5000], 2);
  EXPECT_EQ(pages.data()[5001], 1);
}

TEST_F(MetalCases, HostMemoryThatStartsWithinAPageIsRefused) {
  const Pages pages(8192);
  const auto memory = Buffer::import(device, {.pointer = pages.data() + 64, .size = 100});
  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.error().code, Errc::unsupported);
  EXPECT_NE(memory.error().message.find("page"), std::string::npos) << memory.error().message;
  const auto large = Buffer::import(device, {.pointer = pages.data(), .size = uint64_t{1} << 40});
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, Errc::limit_exceeded);
}

}  // namespace pianola::metal_test
