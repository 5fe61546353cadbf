// SPDX-License-Identifier: Apache-2.0
// Each call and each command buffer of one whole run fails once, on devices with and without memory of their own.
#import <Metal/Metal.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "metal_kernels.hpp"
#include "pianola/interop/metal.hpp"
#include "sim_metal.hpp"

namespace pianola::metal_test {
namespace {

/// The parameter: unified memory.
class MetalFailure : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    sim_metal::clear_faults();
    sim_metal::take_findings();
    sim_metal::Settings settings;
    settings.unified_memory = GetParam();
    sim_metal::configure(settings);
    ASSERT_NE(page_, MAP_FAILED);
    id<MTLDevice> native = MTLCreateSystemDefaultDevice();
    buffer_ = [native newBufferWithLength:size options:MTLResourceStorageModeShared];
    event_ = [native newSharedEvent];
    [native release];
    ASSERT_TRUE(everything()) << "and what is made once a process is made now";
    settle(2);
    live_ = sim_metal::live_objects();
  }
  void TearDown() override {
    for (const auto& finding : sim_metal::take_findings()) ADD_FAILURE() << finding;
    sim_metal::clear_faults();
    sim_metal::configure({});
    [buffer_ release];
    [event_ release];
    munmap(page_, page_size);
  }

  /// Opens a device, imports and fills memory, runs every kind of command, reads back.
  Result<> everything() {
    auto device = Device::open("metal");
    if (!device) return device.error();
    auto host = Buffer::import(*device, {.pointer = page_, .size = page_size, .kind = MemoryKind::upload});
    if (!host) return host.error();
    auto first = device->allocate(size);
    if (!first) return first.error();
    auto second = device->allocate(size);
    if (!second) return second.error();
    if (auto done = first->write(3, std::vector<uint8_t>(10, 1)); !done) return done;
    auto commands = record();
    if (!commands) return commands.error();
    auto graph = device->instantiate(*commands, {.check_indirect = true});
    if (!graph) return graph.error();
    auto submission = device->queue().submit(*graph, {.bindings = {{"a", *first}, {"b", *second}, {"host", *host}}});
    if (!submission) return submission.error();
    if (auto done = submission->wait(); !done) return done;
    if (auto done = hand_over(*device, *first); !done) return done;
    if (auto done = run_once(*device, *first); !done) return done;
    if (auto done = follow_event(*device); !done) return done;
    std::vector<uint8_t> bytes(10);
    return second->read(5, bytes);
  }

  /// From one queue to the other and back.
  static Result<> hand_over(const Device& device, const Buffer& memory) {
    Recorder rec;
    rec.fill(rec.buffer(memory), 1U);
    auto commands = rec.finish();
    if (!commands) return commands.error();
    auto graph = device.instantiate(*commands);
    if (!graph) return graph.error();
    const auto turn = *Semaphore::create();
    std::vector<Submission> submissions;
    for (uint32_t i = 0; i < 3; ++i) {
      auto one = device.queue(i % 2).submit(*graph, {.wait = {{turn, i}}, .signal = {{turn, i + 1}}});
      if (!one) return one.error();
      submissions.push_back(*one);
    }
    for (const auto& submission : submissions) {
      if (auto done = submission.wait(); !done) return done;
    }
    return {};
  }

  /// Without a graph of the caller's: slots of any alignment, and code that Apple's compiler made.
  Result<> run_once(const Device& device, const Buffer& memory) const {
    Recorder rec;
    const auto x = rec.buffer("x", 64, {.alignment = 1}), y = rec.buffer("y", 64, {.alignment = 1});
    const auto from = rec.buffer("from", 256), to = rec.buffer("to", 256);
    rec.fill(x.view(1, 5), uint8_t{1}).barrier().copy(y.view(3, 7), x.view(0, 7));
    rec.dispatch(compiled_["add"], {.groups = {2}, .constants = {1U, 64U}, .bindings = {from, to}});
    auto commands = rec.finish();
    if (!commands) return commands.error();
    auto submission = device.queue().run(*commands, {.bindings = {{"x", memory.view(1, 64)},
                                                                  {"y", memory.view(128, 64)},
                                                                  {"from", memory.view(256, 256)},
                                                                  {"to", memory.view(512, 256)}}});
    if (!submission) return submission.error();
    return submission->wait();
  }

  /// Work over a native buffer that waits for a native event, and one that it signals.
  Result<> follow_event(const Device& device) {
    auto imported = interop::metal::import_buffer(device, buffer_);
    if (!imported) return imported.error();
    Recorder rec;
    rec.fill(rec.buffer(*imported), 1U);
    auto commands = rec.finish();
    if (!commands) return commands.error();
    const auto turn = *Semaphore::create();
    const uint64_t at = [event_ signaledValue];
    if (auto done = interop::metal::signal_when(turn, 1, event_, at + 1); !done) return done;
    if (auto done = interop::metal::signal_event_when(event_, at + 2, turn, 2); !done) return done;
    auto submission = device.queue().run(*commands, {.wait = {{turn, 1}}, .signal = {{turn, 2}}});
    event_.signaledValue = at + 1;
    if (!submission) return submission.error();
    auto done = submission->wait();
    EXPECT_EQ(event_.signaledValue, at + (done ? 2 : 1));
    return done;
  }

  Result<CommandBuffer> record() const {
    Recorder rec;
    const auto a = rec.buffer("a", size);
    const auto b = rec.buffer("b", size);
    const auto host = rec.buffer("host", size, {.kind = MemoryKind::upload});
    rec.update(a, std::vector<uint32_t>(size / 4, 3)).barrier();
    rec.dispatch(kernels_["add"], {.groups = {2}, .constants = {1U, 64U}, .bindings = {a, b}}).barrier();
    rec.fill(a.view(1, 3), uint8_t{1}).copy(b, host).barrier();
    std::vector<BufferRef> many(40, a);
    many.push_back(b);
    rec.dispatch(kernels_["sum40"], {.groups = {1}, .bindings = many}).barrier();
    const auto counts = a.view(0, 12);
    rec.dispatch(kernels_["counts"], {.groups = {1}, .constants = {2U}, .bindings = {counts}}).barrier();
    rec.dispatch_indirect(kernels_["add"], counts,
                          {.constants = {1U, 64U}, .bindings = {a.view(256, 256), b.view(256, 256)}});
    return rec.finish();
  }

  /// Objects of a run that is over go a moment after its last wait returns.
  static void settle(long live) {
    for (int i = 0; i < 1000 && sim_metal::live_objects() != live; ++i) usleep(1000);
  }
  void expect_nothing_leaked(uint32_t number) const {
    settle(live_);
    EXPECT_EQ(sim_metal::live_objects(), live_) << "number " << number;
  }

  static constexpr size_t page_size = 4096;
  static constexpr uint64_t size = 4096;
  KernelLibrary kernels_ = test_kernels();
  KernelLibrary compiled_ = library_of(
      {add_info("add", 32)}, {MetalCode{ObjectFormat::metallib, "MTLB" + (prologue + std::string(add_source))}});
  long live_ = 0;

 private:
  id<MTLBuffer> buffer_ = nil;
  id<MTLSharedEvent> event_ = nil;
  void* page_ = mmap(nullptr, page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
};

}  // namespace

TEST_P(MetalFailure, EveryCallThatCanFailGivesAnErrorLeaksNothingAndCanBeRetried) {
  const uint32_t before = sim_metal::fallible_calls();
  ASSERT_TRUE(everything());
  const uint32_t calls = sim_metal::fallible_calls() - before;
  EXPECT_GT(calls, 15U);
  uint32_t not_made = 0;
  for (uint32_t n = 0; n < calls; ++n) {
    const uint32_t made = sim_metal::fallible_calls();
    sim_metal::fail_call(n);
    const auto result = everything();
    if (sim_metal::fallible_calls() - made <= n) {  // a shared event was there again, so none was made
      EXPECT_TRUE(result) << "call " << n;
      EXPECT_LE(++not_made, 2U);
      sim_metal::clear_faults();
      continue;
    }
    ASSERT_FALSE(result) << "call " << n;
    EXPECT_TRUE(result.error().code == Errc::out_of_memory || result.error().code == Errc::compile_failed ||
                result.error().code == Errc::missing_kernel || result.error().code == Errc::unsupported)
        << "call " << n << ": " << to_string(result.error());
    EXPECT_FALSE(result.error().native_call.empty()) << "call " << n;
    sim_metal::clear_faults();
    expect_nothing_leaked(n);
    EXPECT_TRUE(everything()) << "after call " << n;
  }
}

TEST_P(MetalFailure, EveryCommandBufferThatFailsGivesAnErrorLeaksNothingAndCanBeRetried) {
  sim_metal::reset_counts();
  ASSERT_TRUE(everything());
  const uint32_t buffers = sim_metal::counts().command_buffers;
  EXPECT_EQ(buffers, GetParam() ? 6U : 8U);  // private memory: a write before the jobs and a read after them
  for (uint32_t n = 0; n < buffers; ++n) {
    for (const auto& [native, code] : {std::pair{3, Errc::execution_failed}, std::pair{8, Errc::out_of_memory},
                                       std::pair{11, Errc::device_lost}, std::pair{4, Errc::device_lost}}) {
      sim_metal::fail_command_buffer(n, native);
      const auto result = everything();
      ASSERT_FALSE(result) << "command buffer " << n;
      EXPECT_EQ(result.error().code, code) << to_string(result.error());
      EXPECT_EQ(result.error().native_code, native);
      sim_metal::clear_faults();
      expect_nothing_leaked(n);
    }
    EXPECT_TRUE(everything()) << "after command buffer " << n;
  }
}

INSTANTIATE_TEST_SUITE_P(Memory, MetalFailure, testing::Bool(), [](const testing::TestParamInfo<bool>& info) {
  return std::string(info.param ? "Unified" : "Discrete");
});

}  // namespace pianola::metal_test
