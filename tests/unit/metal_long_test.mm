// SPDX-License-Identifier: Apache-2.0
// Long graphs are spread over several command buffers of Metal's, which are one job all the same.
#include <algorithm>
#include <thread>

#include "backend/metal/lower.hpp"
#include "metal_device_test.hpp"
#include "metal_gate.hpp"
#include "metal_kernels.hpp"

namespace pianola::metal_test {
namespace {

const uint32_t most = backend::metal::Target{}.commands_per_buffer;
constexpr uint32_t max_buffers = backend::metal::max_command_buffers;

class MetalLongGraphs : public MetalDeviceTest {
 protected:
  void SetUp() override {
    sim_metal::clear_faults();
    MetalDeviceTest::SetUp();
    memory = *device.allocate(64);
    zero();
  }
  void TearDown() override {
    sim_metal::clear_faults();
    MetalDeviceTest::TearDown();
  }
  void zero() { ASSERT_TRUE(memory.write(0, std::vector<uint32_t>(16))); }

  void step(Recorder& rec, const BufferRef& x) const {
    rec.dispatch(kernels["increment"], {.groups = {1}, .bindings = {x}}).barrier();
  }
  /// Adds 1 to the first four words, `count` times.
  Graph counting(uint32_t count) const {
    Recorder rec;
    const auto x = rec.buffer(memory).view(0, 16);
    for (uint32_t i = 0; i < count; ++i) step(rec, x);
    return *device.instantiate(*rec.finish());
  }
  uint32_t count() const {
    std::vector<uint32_t> words(4);
    EXPECT_TRUE(memory.read(0, words));
    EXPECT_EQ(words, std::vector<uint32_t>(4, words[0]));
    return words[0];
  }
  static Errc code_of(const Submission& submission) {
    const auto result = submission.wait();
    return result ? Errc{} : result.error().code;
  }

  Buffer memory;
  KernelLibrary kernels = [] {
    KernelInfo info{.name = "increment", .workgroup = {4, 1, 1}};
    info.bindings = {{.name = "x", .binding = 0, .access = Access::inout, .element_size = 4}};
    return library_of({info}, prologue + std::string("kernel void increment(device uint* x [[buffer(0)]], uint i "
                                                     "[[thread_position_in_grid]]) { ++x[i]; }"));
  }();
};

}  // namespace

TEST_F(MetalLongGraphs, EachCommandBufferHasAtMostSoManyCommandsAndAllOfThemRun) {
  for (const auto& [commands, buffers] : {std::pair{most, 1U}, std::pair{most + 1, 2U}, std::pair{3 * most, 3U}}) {
    zero();
    const Graph graph = counting(commands);
    sim_metal::reset_counts();
    ASSERT_EQ(code_of(*device.queue().submit(graph)), Errc{});
    const auto counts = sim_metal::counts();
    EXPECT_EQ(counts.command_buffers, buffers);
    EXPECT_EQ(counts.compute_encoders, buffers);
    EXPECT_EQ(counts.switches, 0U);
    EXPECT_EQ(counts.barriers, commands - buffers) << "the end of a command buffer needs none";
    EXPECT_EQ(count(), commands);
    const std::string text = graph.native_description();
    const auto totals = fmt::format("metal: {} command buffers, {} encoders, 0 switches, {} barriers,", buffers,
                                    buffers, commands - buffers);
    EXPECT_NE(text.find(totals), std::string::npos) << text;
    size_t cuts = 0;
    for (size_t at = text.find("next command buffer\n"); at != std::string::npos; at = text.find("next c", at + 1))
      ++cuts;
    EXPECT_EQ(cuts, buffers - 1);
  }
}

TEST_F(MetalLongGraphs, NoGraphTakesMoreCommandBuffersThanAQueueHasRoomFor) {
  const uint32_t commands = (max_buffers + 5) * most;
  Recorder rec;
  std::vector<BufferRef> slots;
  for (int i = 0; i < 8; ++i) slots.push_back(rec.buffer(*device.allocate(16)));
  for (uint32_t i = 0; i < commands; ++i) rec.fill(slots[i % 8], i % 256).barrier();
  const Graph graph = *device.instantiate(*rec.finish());
  sim_metal::configure({.execute = false});
  sim_metal::reset_counts();
  std::vector<Submission> all;
  for (int i = 0; i < 3; ++i) all.push_back(*device.queue().submit(graph));
  for (const auto& one : all) EXPECT_EQ(code_of(one), Errc{});
  EXPECT_EQ(sim_metal::counts().command_buffers, 3 * max_buffers);
}

TEST_F(MetalLongGraphs, TheDeviceStartsBeforeAllIsEncoded) {
  const Graph graph = counting(3 * most);
  sim_metal::fail_call(4);  // command buffer, encoder, command buffer, encoder, and the third command buffer
  const auto submission = *device.queue().submit(graph);
  EXPECT_EQ(code_of(submission), Errc::out_of_memory);
  EXPECT_EQ(submission.wait().error().native_call, "commandBuffer");
  EXPECT_EQ(count(), 2 * most) << "two command buffers were with the device";
  zero();
  EXPECT_EQ(code_of(*device.queue().submit(graph)), Errc{}) << "the graph is as it was";
  EXPECT_EQ(count(), 3 * most);
}

TEST_F(MetalLongGraphs, AJobThatFailsHalfwayCompletesAfterWhatTheDeviceHas) {
  const Graph graph = counting(3 * most), one = counting(1);
  const auto turn = *Semaphore::create();
  Gate gate(device, device.queue(0));
  sim_metal::fail_call(5);  // the same, after the event that it would signal
  const auto failed = *device.queue(0).submit(graph, {.signal = {{turn, 1}}});
  const auto next = *device.queue(0).submit(one);
  const auto follower = *device.queue(1).submit(one, {.wait = {{turn, 1}}});
  EXPECT_EQ(failed.wait_for(std::chrono::milliseconds(20)).error().code, Errc::timeout) << "its memory is in use";
  EXPECT_FALSE(next.is_done() || follower.is_done());
  gate.open();
  EXPECT_EQ(code_of(failed), Errc::out_of_memory);
  EXPECT_EQ(code_of(next), Errc{});
  EXPECT_EQ(code_of(follower), Errc::dependency_failed);
  EXPECT_EQ(count(), 2 * most + 1);
}

TEST_F(MetalLongGraphs, AnyOfItsCommandBuffersThatFailsFailsTheJobOnce) {
  const Graph graph = counting(3 * most), one = counting(1);
  for (uint32_t n = 0; n < 3; ++n) {
    const auto turn = *Semaphore::create();
    sim_metal::fail_command_buffer(n, 3);
    const auto failed = *device.queue(0).submit(graph, {.signal = {{turn, 1}}});
    const auto follower = *device.queue(1).submit(one, {.wait = {{turn, 1}}});
    EXPECT_EQ(code_of(failed), Errc::execution_failed) << n;
    EXPECT_EQ(failed.wait().error().native_code, 3);
    EXPECT_EQ(code_of(follower), Errc::dependency_failed) << n;
    EXPECT_EQ(turn.wait(1).error().code, Errc::dependency_failed) << n;
    EXPECT_EQ(turn.value(), 0U);
    EXPECT_EQ(code_of(*device.queue(0).submit(one)), Errc{}) << "the queue goes on";
  }
}

TEST_F(MetalLongGraphs, WhatWaitsForOneOnAnotherQueueComesAfterAllOfIt) {
  const Graph graph = counting(3 * most);
  auto turn = *Semaphore::create();
  std::vector<Submission> all;
  for (uint32_t i = 0; i < 6; ++i) {
    SubmitInfo info{.signal = {{turn, i + 1}}};
    if (i != 0) info.wait = {{turn, i}};
    all.push_back(*device.queue(i % 2).submit(graph, info));
  }
  for (const auto& submission : all) EXPECT_EQ(code_of(submission), Errc{});
  EXPECT_EQ(turn.value(), 6U);
  EXPECT_EQ(count(), 6 * 3 * most);
}

TEST_F(MetalLongGraphs, ItsLastCommandBufferPromisesWhatItSignalsOnceTheOthersHaveEnded) {
  const Graph graph = counting(2 * most), one = counting(1);
  const auto turn = *Semaphore::create();
  Gate gate(device, device.queue(0));
  const auto first = *device.queue(0).submit(graph, {.signal = {{turn, 1}}});
  sim_metal::reset_counts();
  const auto second = *device.queue(1).submit(one, {.wait = {{turn, 1}}});
  EXPECT_EQ(second.wait_for(std::chrono::milliseconds(20)).error().code, Errc::timeout);
  EXPECT_EQ(sim_metal::counts().command_buffers, 0U) << "held on the host while the first command buffer waits";
  gate.open();
  EXPECT_EQ(code_of(second), Errc{});
  EXPECT_EQ(count(), 2 * most + 1);
}

TEST_F(MetalLongGraphs, EachOfItsCommandBuffersWaitsForWhatTheJobWaitsFor) {
  const Graph graph = counting(2 * most), one = counting(1);
  const auto turn = *Semaphore::create();
  Gate gate(device, device.queue(0));
  const auto first = *device.queue(0).submit(one, {.signal = {{turn, 1}}});
  sim_metal::reset_counts();
  const auto second = *device.queue(1).submit(graph, {.wait = {{turn, 1}}});
  EXPECT_EQ(sim_metal::counts().command_buffers, 2U);
  EXPECT_EQ(sim_metal::counts().events, 2U) << "waits";
  gate.open();
  EXPECT_EQ(code_of(second), Errc{});
  EXPECT_EQ(count(), 2 * most + 1);
}

TEST_F(MetalLongGraphs, ManyInFlightAreTakenAndHeldWithoutBlockingInMetal) {
  const Graph graph = counting(10 * most);
  std::vector<Submission> all;
  Gate gate(device, device.queue());
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    gate.open();
  });
  for (int i = 0; i < 30; ++i) all.push_back(*device.queue().submit(graph));  // 300 command buffers
  for (const auto& submission : all) EXPECT_EQ(code_of(submission), Errc{});
  opener.join();
  EXPECT_EQ(count(), 30 * 10 * most);
}

TEST_F(MetalLongGraphs, CountsCheckedInAnEarlierCommandBufferFailTheJob) {
  auto counts = *device.allocate(12);
  ASSERT_TRUE(counts.write(0, std::vector<uint32_t>{UINT32_MAX, 1, 1}));
  Recorder rec;
  const auto x = rec.buffer(memory).view(0, 16);
  rec.dispatch_indirect(test_kernels()["counts"], rec.buffer(counts), {.constants = {1U}, .bindings = {x}}).barrier();
  for (uint32_t i = 0; i < most; ++i) rec.fill(x, i).barrier();
  const Graph graph = *device.instantiate(*rec.finish(), {.check_indirect = true});
  sim_metal::reset_counts();
  const auto failed = *device.queue().submit(graph);
  EXPECT_EQ(code_of(failed), Errc::execution_failed);
  EXPECT_EQ(failed.wait().error().command, 0U);
  EXPECT_EQ(sim_metal::counts().command_buffers, 2U);
}

TEST_F(MetalLongGraphs, ADebugGroupThatSpansCommandBuffersIsOpenInEach) {
  Recorder rec;
  const auto x = rec.buffer(memory).view(0, 16);
  rec.begin_debug_group("outer").begin_debug_group("inner");
  for (uint32_t i = 0; i <= most; ++i) step(rec, x);
  rec.end_debug_group().end_debug_group();
  const Graph graph = *device.instantiate(*rec.finish());
  sim_metal::take_labels();
  ASSERT_EQ(code_of(*device.queue().submit(graph)), Errc{});
  const auto labels = sim_metal::take_labels();
  EXPECT_EQ(std::ranges::count(labels, "push outer"), 2);
  EXPECT_EQ(std::ranges::count(labels, "push inner"), 2);
  EXPECT_EQ(count(), most + 1);
}

}  // namespace pianola::metal_test
