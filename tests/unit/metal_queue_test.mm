// SPDX-License-Identifier: Apache-2.0
// Order between the queues of one Metal device: what is left to shared events, what the host holds back, what fails.
#include "backend/completion.hpp"
#include "metal_device_test.hpp"
#include "metal_gate.hpp"
#include "metal_kernels.hpp"

namespace pianola::metal_test {
namespace {

class MetalQueues : public MetalDeviceTest {
 protected:
  void SetUp() override {
    MetalDeviceTest::SetUp();
    sim_metal::clear_faults();
    memory = *device.allocate(64);
    ASSERT_TRUE(memory.write(0, std::vector<uint32_t>(16)));
    sim_metal::reset_counts();
  }
  /// Moves all words one place on and writes `value` in front, so that the words tell in which order steps ran.
  Graph step(uint32_t value, const InstantiateOptions& options = {}) {
    Recorder rec;
    const auto x = rec.buffer(memory), y = rec.buffer(*device.allocate(64));
    rec.copy(y.view(0, 60), x.view(0, 60)).barrier().copy(x.view(4, 60), y.view(0, 60)).fill(x.view(0, 4), value);
    return *device.instantiate(*rec.finish(), options);
  }
  Submission submit(uint32_t queue, const Graph& graph, const SubmitInfo& info = {}) {
    return *device.queue(queue).submit(graph, info);
  }
  /// The values of the last steps, the last one first.
  std::vector<uint32_t> steps(size_t count) const {
    std::vector<uint32_t> words(count);
    EXPECT_TRUE(memory.read(0, words));
    return words;
  }
  static Errc error_of(const Submission& submission) {
    const auto result = submission.wait();
    return result ? Errc{} : result.error().code;
  }

  Buffer memory;
};

Semaphore semaphore() {
  return *Semaphore::create();
}

}  // namespace

TEST_F(MetalQueues, AWaitForWorkInFlightIsLeftToTheDevice) {
  const Semaphore turn = semaphore();
  const Graph one = step(1), two = step(2), three = step(3);
  Gate gate(device, device.queue(0));
  sim_metal::reset_counts();
  const Submission first = submit(0, one, {.signal = {{turn, 1}}});
  const Submission second = submit(1, two, {.wait = {{turn, 1}}, .signal = {{turn, 2}}});
  const Submission third = submit(0, three, {.wait = {{turn, 2}}, .signal = {{turn, 3}}});
  EXPECT_EQ(sim_metal::counts().command_buffers, 2U) << "the second is with the device before the first has run";
  EXPECT_EQ(sim_metal::counts().events, 3U)
      << "two signals, one wait; the third is held, as it would wait for two jobs";
  EXPECT_EQ(turn.value(), 0U);
  EXPECT_FALSE(first.is_done() || second.is_done() || third.is_done());
  gate.open();
  EXPECT_TRUE(third.wait());
  EXPECT_TRUE(first.wait());
  EXPECT_TRUE(second.wait());
  EXPECT_EQ(turn.value(), 3U);
  EXPECT_EQ(steps(4), (std::vector<uint32_t>{3, 2, 1, 0}));
}

TEST_F(MetalQueues, OnlyTheOldestJobOfAQueueIsWaitedForOnTheDevice) {
  const Semaphore turn = semaphore();
  const Graph one = step(1), two = step(2), three = step(3);
  Gate gate(device, device.queue(0));
  submit(0, one);
  const Submission second = submit(0, two, {.signal = {{turn, 1}}});
  const Submission third = submit(1, three, {.wait = {{turn, 1}}});
  sim_metal::reset_counts();
  gate.open();
  EXPECT_TRUE(third.wait());
  EXPECT_TRUE(second.wait());
  EXPECT_LE(sim_metal::counts().command_buffers, 1U) << "the third, which may come once the first has completed";
  EXPECT_EQ(steps(3), (std::vector<uint32_t>{3, 2, 1}));
}

TEST_F(MetalQueues, AWaitWithinOneQueueNeedsNoEvent) {
  const Semaphore turn = semaphore();
  const Graph one = step(1), two = step(2);
  Gate gate(device, device.queue(0));
  sim_metal::reset_counts();
  submit(0, one, {.signal = {{turn, 1}}});
  const Submission second = submit(0, two, {.wait = {{turn, 1}}});
  EXPECT_EQ(sim_metal::counts().command_buffers, 2U);
  EXPECT_EQ(sim_metal::counts().events, 1U) << "the signal";
  gate.open();
  EXPECT_TRUE(second.wait());
  EXPECT_EQ(steps(2), (std::vector<uint32_t>{2, 1}));
}

TEST_F(MetalQueues, WorkWithoutSemaphoresUsesNoEvent) {
  ASSERT_EQ(error_of(submit(0, step(1))), Errc{});
  EXPECT_EQ(sim_metal::counts().events, 0U);
}

TEST_F(MetalQueues, AValueThatNoSubmissionPromisesIsWaitedForOnTheHost) {
  const Semaphore turn = semaphore();
  const Graph one = step(1), two = step(2);
  Gate gate(device, device.queue(0));
  const Submission first = submit(0, one, {.signal = {{turn, 1}}});
  const Submission second = submit(1, two, {.wait = {{turn, 2}}});
  gate.open();
  EXPECT_TRUE(first.wait());
  EXPECT_EQ(second.wait_for(std::chrono::milliseconds(20)).error().code, Errc::timeout);
  ASSERT_TRUE(turn.signal(2));
  EXPECT_TRUE(second.wait());
  EXPECT_EQ(steps(2), (std::vector<uint32_t>{2, 1}));
}

TEST_F(MetalQueues, ALaterSignalPromisesEveryValueBelowIt) {
  const Semaphore turn = semaphore();
  const Graph one = step(1), two = step(2);
  Gate gate(device, device.queue(0));
  submit(0, one, {.signal = {{turn, 7}}});
  sim_metal::reset_counts();
  const Submission second = submit(1, two, {.wait = {{turn, 5}}});
  EXPECT_EQ(sim_metal::counts().events, 1U) << "a wait on the device";
  gate.open();
  EXPECT_TRUE(second.wait());
  EXPECT_EQ(turn.value(), 7U);
  EXPECT_EQ(steps(2), (std::vector<uint32_t>{2, 1}));
}

TEST_F(MetalQueues, WhatTheHostHasTheLastWordOnIsWaitedForOnTheHost) {
  Recorder rec;
  auto counts = *device.allocate(12);
  ASSERT_TRUE(counts.write(0, std::vector<uint32_t>{UINT32_MAX, 1, 1}));
  const auto kernels = test_kernels();
  rec.dispatch_indirect(kernels["counts"], rec.buffer(counts), {.constants = {1U}, .bindings = {rec.buffer(memory)}});
  const Graph checked = *device.instantiate(*rec.finish(), {.check_indirect = true});
  const Graph two = step(2);
  const Semaphore turn = semaphore();
  Gate gate(device, device.queue(0));
  const Submission first = submit(0, checked, {.signal = {{turn, 1}}});
  const Submission second = submit(1, two, {.wait = {{turn, 1}}});
  gate.open();
  EXPECT_EQ(error_of(first), Errc::execution_failed);
  EXPECT_EQ(error_of(second), Errc::dependency_failed);
  EXPECT_EQ(steps(1), std::vector<uint32_t>{0}) << "the waiter has not run";
}

TEST_F(MetalQueues, EachSubmissionOfOneGraphInFlightHasItsOwnCheckedCounts) {
  Recorder rec;
  const auto counts = rec.buffer("counts", 12);
  rec.dispatch_indirect(test_kernels()["counts"], counts, {.constants = {1U}, .bindings = {rec.buffer(memory)}});
  const Graph checked = *device.instantiate(*rec.finish(), {.check_indirect = true});
  auto good = *device.allocate(12), bad = *device.allocate(12);
  ASSERT_TRUE(good.write(0, std::vector<uint32_t>{1, 1, 1}));
  ASSERT_TRUE(bad.write(0, std::vector<uint32_t>{UINT32_MAX, 1, 1}));
  Gate gate(device, device.queue(0));
  std::vector<Submission> all;
  for (const Buffer& bound : {good, bad, good, bad}) {
    const uint32_t before = sim_metal::fallible_calls();
    all.push_back(submit(0, checked, {.bindings = {{counts, bound}}}));
    EXPECT_EQ(sim_metal::fallible_calls() - before, 4U) << "its buffer of counts, a command buffer and two encoders";
  }
  gate.open();
  std::vector<Errc> codes;
  for (const Submission& one : all) codes.push_back(error_of(one));
  EXPECT_EQ(codes, (std::vector<Errc>{Errc{}, Errc::execution_failed, Errc{}, Errc::execution_failed}));
}

TEST_F(MetalQueues, AnEmptyGraphEndsNoSoonerThanWhatItWaitsFor) {
  Recorder rec;
  const Graph empty = *device.instantiate(*rec.finish());
  const Graph one = step(1), two = step(2);
  const Semaphore turn = semaphore();
  Gate gate(device, device.queue(0));
  submit(0, one, {.signal = {{turn, 1}}});
  const Submission second = submit(1, empty, {.wait = {{turn, 1}}, .signal = {{turn, 2}}});
  const Submission third = submit(1, two, {.wait = {{turn, 2}}});
  EXPECT_EQ(second.wait_for(std::chrono::milliseconds(20)).error().code, Errc::timeout);
  EXPECT_EQ(turn.value(), 0U);
  gate.open();
  EXPECT_TRUE(third.wait());
  EXPECT_TRUE(second.wait());
  EXPECT_EQ(steps(2), (std::vector<uint32_t>{2, 1}));
}

TEST_F(MetalQueues, AFailureReachesAllThatWaitOnTheDeviceAndTheQueuesGoOn) {
  const Graph one = step(1), two = step(2), three = step(3), four = step(4);
  const Semaphore turn = semaphore();
  Gate gate(device, device.queue(0));
  sim_metal::fail_command_buffer(0, 3);
  const Submission failed = submit(0, one, {.signal = {{turn, 1}}});
  const Submission second = submit(1, two, {.wait = {{turn, 1}}, .signal = {{turn, 2}}});
  const Submission third = submit(0, three, {.wait = {{turn, 2}}, .signal = {{turn, 3}}});
  EXPECT_FALSE(failed.is_done());
  gate.open();
  EXPECT_EQ(error_of(third), Errc::dependency_failed);
  EXPECT_EQ(error_of(failed), Errc::execution_failed);
  EXPECT_EQ(error_of(second), Errc::dependency_failed);
  EXPECT_EQ(turn.wait(1).error().code, Errc::dependency_failed);

  const Semaphore again = semaphore();
  const Submission fourth = submit(0, four, {.signal = {{again, 1}}});
  const Submission last = submit(1, one, {.wait = {{again, 1}}});
  EXPECT_EQ(error_of(fourth), Errc{});
  EXPECT_EQ(error_of(last), Errc{});
  EXPECT_EQ(steps(2), (std::vector<uint32_t>{1, 4}));
}

TEST_F(MetalQueues, AWaiterThatCannotBeEncodedDoesNotFailWhatItWaitsFor) {
  const Graph one = step(1), two = step(2);
  const Semaphore turn = semaphore();
  Gate gate(device, device.queue(0));
  const Submission first = submit(0, one, {.signal = {{turn, 1}}});
  sim_metal::fail_call(0);
  const Submission second = submit(1, two, {.wait = {{turn, 1}}, .signal = {{turn, 2}}});
  EXPECT_FALSE(second.is_done());
  gate.open();
  EXPECT_EQ(error_of(first), Errc{});
  EXPECT_EQ(error_of(second), Errc::out_of_memory);
  EXPECT_EQ(turn.value(), 1U);
}

TEST_F(MetalQueues, AJobWhoseWaitHasFailedCompletesAfterThoseBeforeIt) {
  const Graph one = step(1), two = step(2), three = step(3);
  const Semaphore turn = semaphore(), broken = semaphore();
  broken.state()->fail(Error{.code = Errc::execution_failed, .message = "as asked"});
  Gate gate(device, device.queue(0));
  const Submission first = submit(0, one, {.signal = {{turn, 1}}});
  const Submission second = submit(0, two, {.wait = {{broken, 1}}, .signal = {{turn, 2}}});
  const Submission third = submit(1, three, {.wait = {{turn, 1}, {broken, 1}}, .signal = {{turn, 3}}});
  EXPECT_FALSE(second.is_done());
  EXPECT_FALSE(third.is_done());
  gate.open();
  EXPECT_EQ(error_of(third), Errc::dependency_failed);
  EXPECT_EQ(error_of(second), Errc::dependency_failed);
  EXPECT_EQ(error_of(first), Errc{}) << "it waited for nothing";
  EXPECT_EQ(turn.value(), 1U);
  EXPECT_EQ(steps(2), (std::vector<uint32_t>{1, 0}));
}

TEST_F(MetalQueues, WorkForADeviceOpenedTwiceWaitsOnTheDeviceToo) {
  const auto again = *Device::open("metal");
  const auto other_memory = *again.allocate(64);
  Recorder rec;
  rec.fill(rec.buffer(other_memory), 5U);
  const Graph other = *again.instantiate(*rec.finish());
  const Graph one = step(1);
  const Semaphore turn = semaphore();
  Gate gate(device, device.queue(0));
  submit(0, one, {.signal = {{turn, 1}}});
  sim_metal::reset_counts();
  const Submission second = *again.queue().submit(other, {.wait = {{turn, 1}}});
  EXPECT_EQ(sim_metal::counts().events, 1U);
  EXPECT_FALSE(second.is_done());
  gate.open();
  EXPECT_TRUE(second.wait());
}

TEST_F(MetalQueues, AThousandHandOversBetweenTwoQueuesKeepTheirOrder) {
  const Semaphore turn = semaphore();
  std::vector<Graph> graphs;
  for (uint32_t i = 1; i <= 8; ++i) graphs.push_back(step(i));
  Submission last;
  for (uint32_t i = 0; i < 1000; ++i) {
    last = submit(i % 2, graphs[i % 8], {.wait = {{turn, i}}, .signal = {{turn, i + 1}}});
  }
  EXPECT_TRUE(last.wait());
  EXPECT_EQ(steps(8), (std::vector<uint32_t>{8, 7, 6, 5, 4, 3, 2, 1}));
}

}  // namespace pianola::metal_test
