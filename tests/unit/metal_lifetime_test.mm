// SPDX-License-Identifier: Apache-2.0
// What work in flight needs is kept for it after it is committed, when Metal retains nothing.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "metal_device_test.hpp"
#include "metal_gate.hpp"
#include "metal_kernels.hpp"

namespace pianola::metal_test {
namespace {

class MetalLifetime : public MetalDeviceTest {
 protected:
  void SetUp() override {
    sim_metal::clear_faults();
    MetalDeviceTest::SetUp();
    device = {};
    settle(0);
    live_ = sim_metal::live_objects();
    ASSERT_NE(page_, MAP_FAILED);
  }
  void TearDown() override {
    MetalDeviceTest::TearDown();
    device = {};
    settle(live_);
    EXPECT_EQ(sim_metal::live_objects(), live_);
    munmap(page_, page_size);
  }
  /// Objects of work that is over go a moment after its last wait returns.
  static void settle(long live) {
    for (int i = 0; i < 1000 && sim_metal::live_objects() != live; ++i) usleep(1000);
  }
  void open(const sim_metal::Settings& settings) {
    sim_metal::configure(settings);
    device = *Device::open("metal");
  }

  /// Every kind of thing that a command buffer refers to. Leaves 40 * 3 + 1 in the first 64 words of the page, and 7 in
  /// its bytes 97 to 99.
  Submission submit_everything() {
    const auto kernels = test_kernels();
    const auto host = *Buffer::import(device, {.pointer = page_, .size = page_size, .kind = MemoryKind::upload});
    Recorder rec;  // one buffer is recorded, one bound at instantiate, one at submit
    const auto a = rec.buffer(*device.allocate(256)), b = rec.buffer("b", 256), to = rec.buffer(host);
    const auto counts = rec.buffer(*device.allocate(12));
    std::vector<BufferRef> many;
    for (int i = 0; i < 39; ++i) many.push_back(a);
    many.push_back(rec.buffer("last", 256));
    many.push_back(b);
    rec.update(a, std::vector<uint32_t>(64, 3)).update(many[39], std::vector<uint32_t>(64, 3));
    rec.dispatch(kernels["counts"], {.groups = {1}, .constants = {2U}, .bindings = {counts}}).barrier();
    rec.dispatch(kernels["sum40"], {.groups = {16}, .bindings = many}).barrier();
    rec.dispatch_indirect(kernels["add"], counts, {.constants = {1U, 64U}, .bindings = {b, to.view(0, 256)}}).barrier();
    rec.fill(to.view(97, 3), uint8_t{7});
    const auto graph =
        *device.instantiate(*rec.finish(), {.bindings = {{"last", *device.allocate(256)}}, .check_indirect = true});
    return *device.queue().submit(graph, {.bindings = {{"b", *device.allocate(256)}}});
  }

  static constexpr size_t page_size = 4096;
  void* page_ = mmap(nullptr, page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

 private:
  long live_ = 0;
};

/// A graph that sums 40 buffers into the slot "out", and those buffers.
class Sum40 {
 public:
  explicit Sum40(const Device& device) : device_(device) {
    Recorder rec;
    Dispatch dispatch{.groups = {1}};
    for (uint32_t i = 0; i < 40; ++i) {
      auto input = *device.allocate(16);
      EXPECT_TRUE(input.write(0, std::vector<uint32_t>(4, i)));
      dispatch.bindings.push_back(rec.buffer(input));
    }
    dispatch.bindings.push_back(rec.buffer("out", 16));
    rec.dispatch(test_kernels()["sum40"], dispatch);
    graph_ = *device.instantiate(*rec.finish());
  }
  Submission submit(const Buffer& out) const { return *device_.queue().submit(graph_, {.bindings = {{"out", out}}}); }
  std::vector<Buffer> make_outputs(size_t count) const {
    std::vector<Buffer> outputs;
    for (size_t i = 0; i < count; ++i) outputs.push_back(*device_.allocate(16));
    return outputs;
  }
  static uint32_t first(const Buffer& from) {
    std::vector<uint32_t> words(4);
    EXPECT_TRUE(from.read(0, words));
    return words[0];
  }
  static constexpr uint32_t sum = 780;

 private:
  Device device_;
  Graph graph_;
};

}  // namespace

TEST_F(MetalLifetime, CommittedWorkKeepsAllThatItNeedsWhenEveryHandleIsDropped) {
  for (const bool unified : {true, false}) {
    open({.unified_memory = unified});
    auto gate = std::make_unique<Gate>(device, device.queue());
    sim_metal::reset_counts();
    const auto last = submit_everything();
    ASSERT_EQ(sim_metal::counts().command_buffers, 1U) << "it is with the device";
    device = {};
    EXPECT_FALSE(last.is_done());
    gate->open();
    gate.reset();
    ASSERT_TRUE(last.wait()) << to_string(last.wait().error());
    std::vector<uint32_t> expected(64, 40 * 3 + 1);
    std::memset(reinterpret_cast<uint8_t*>(expected.data()) + 97, 7, 3);
    EXPECT_EQ(std::memcmp(page_, expected.data(), 256), 0);
    std::memset(page_, 0, page_size);
  }
}

TEST_F(MetalLifetime, BindingsThatAreKnownMakeNoArgumentBufferAgain) {
  open({});
  const Sum40 sum40(device);
  const auto outputs = sum40.make_outputs(2);
  for (int round = 0; round < 3; ++round) {
    for (auto out : outputs) {
      const uint32_t before = sim_metal::fallible_calls();
      ASSERT_TRUE(sum40.submit(out).wait());
      const uint32_t calls = sim_metal::fallible_calls() - before;
      if (round != 0) EXPECT_EQ(calls, 2U) << "a command buffer and an encoder";
      EXPECT_EQ(Sum40::first(out), Sum40::sum);
      ASSERT_TRUE(out.write(0, std::vector<uint32_t>(4)));
    }
  }
}

TEST_F(MetalLifetime, ArgumentBuffersThatAreForgottenStayForWorkInFlight) {
  open({});
  const Sum40 sum40(device);
  const auto outputs = sum40.make_outputs(100);  // 64 are remembered
  Gate gate(device, device.queue());
  std::vector<Submission> all;
  for (const auto& out : outputs) all.push_back(sum40.submit(out));
  EXPECT_FALSE(all.front().is_done());
  gate.open();
  for (const auto& submission : all) EXPECT_TRUE(submission.wait());
  for (const auto& out : outputs) EXPECT_EQ(Sum40::first(out), Sum40::sum);
}

TEST_F(MetalLifetime, ArgumentBuffersAreForgottenBeforeTheyPileUp) {
  open({});
  const Sum40 sum40(device);
  const auto outputs = sum40.make_outputs(300);
  const long before = sim_metal::live_objects();
  for (const auto& out : outputs) ASSERT_TRUE(sum40.submit(out).wait());
  settle(before);
  EXPECT_LE(sim_metal::live_objects(), before + 70);
}

}  // namespace pianola::metal_test
