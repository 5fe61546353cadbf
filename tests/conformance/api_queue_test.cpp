// SPDX-License-Identifier: Apache-2.0
// Queues and semaphores: order between submissions, waits before signals, failures that reach who waits.
#include "fixture.hpp"

namespace pianola::conformance {
namespace {

using std::chrono::milliseconds;

class ApiQueue : public ApiTest {
 protected:
  /// data = data * factor + value, slowly enough to be overtaken.
  static CommandBuffer step_list() {
    Recorder rec;
    const BufferRef data = rec.buffer("data", 256);
    const BufferRef scratch = rec.buffer("scratch", 256);
    const ConstantRef factor = rec.constant("factor", 4);
    const ConstantRef value = rec.constant("value", 4);
    rec.dispatch(kernel("slow_copy"), {.constants = {3000U, 64U}, .bindings = {data, scratch}}).barrier();
    rec.dispatch(kernel("multiply_add"), {.constants = {factor, value, 64U}, .bindings = {scratch}}).barrier();
    rec.copy(data, scratch);
    return must_finish(rec);
  }
  static Semaphore semaphore(uint64_t initial = 0) {
    const auto made = Semaphore::create(initial);
    EXPECT_TRUE(succeeded(made));
    return made ? *made : Semaphore();
  }
  static Submission submit(const Queue& queue, const Graph& graph, const SubmitInfo& info = {}) {
    const auto submission = queue.submit(graph, info);
    EXPECT_TRUE(succeeded(submission));
    return submission ? *submission : Submission();
  }

  Buffer data = make_buffer(repeated(1, 64));
  Buffer scratch = make_buffer(repeated(0, 64));
};

// L10, O11
TEST_F(ApiQueue, SubmissionsOnOneQueueRunInOrder) {
  const Graph graph = must_instantiate(step_list(), {.bindings = {{"data", data}, {"scratch", scratch}}});
  uint32_t wanted = 1;
  for (uint32_t i = 0; i < 300; ++i) {
    ASSERT_TRUE(succeeded(device().queue().submit(graph, {.constants = {{"factor", i + 2}, {"value", 7 * i}}})));
    wanted = wanted * (i + 2) + 7 * i;
  }
  EXPECT_TRUE(succeeded(device().queue().wait_idle()));
  EXPECT_EQ(read_values<uint32_t>(data), repeated(wanted, 64));
}

// L10
TEST_F(ApiQueue, SubmittingTwiceWithoutWaitingRunsBoth) {
  InstantiateOptions options{.bindings = {{"data", data}, {"scratch", scratch}}};
  options.constants = {{"factor", 3U}, {"value", 1U}};
  const Graph graph = must_instantiate(step_list(), options);
  const Submission first = submit(device().queue(), graph);
  const Submission second = submit(device().queue(), graph);
  EXPECT_TRUE(succeeded(second.wait()));
  EXPECT_TRUE(first.is_done());
  EXPECT_TRUE(succeeded(first.wait()));
  EXPECT_EQ(read_values<uint32_t>(data), repeated((1 * 3 + 1) * 3 + 1, 64));
}

// O11: a thousand submissions of mixed shapes without waiting for any
TEST_F(ApiQueue, AThousandMixedSubmissionsKeepTheirOrder) {
  constexpr uint32_t count = 1000;
  const Graph step = must_instantiate(step_list(), {.bindings = {{"data", data}, {"scratch", scratch}}});
  Recorder keep;
  keep.copy(keep.buffer("log", 4, {.alignment = 4}), keep.buffer("data", 256).view(4, 4));
  const Graph log = must_instantiate(must_finish(keep), {.bindings = {{"data", data}}});
  Recorder indirect;
  const BufferRef counts = indirect.buffer("counts", 12);
  const BufferRef target = indirect.buffer("data", 256);
  indirect.update(counts, std::vector<uint32_t>{64, 1, 1}).barrier();
  indirect.dispatch_indirect(kernel("mark_groups"), counts, {.constants = {5U}, .bindings = {target}});
  const Graph add = must_instantiate(must_finish(indirect), {.bindings = {{"counts", scratch}, {"data", data}}});
  Recorder empty;
  const Graph nothing = must_instantiate(must_finish(empty));

  const Buffer history = make_buffer(repeated(0, count));
  std::vector<uint32_t> wanted(count);
  uint32_t value = 1;
  const Queue queue = device().queue();
  for (uint32_t i = 0; i < count; ++i) {
    switch (i % 4) {
      case 0:
        submit(queue, step, {.constants = {{"factor", 3U}, {"value", i}}});
        value = value * 3 + i;
        break;
      case 1:
        submit(queue, add);
        value += 5;
        break;
      case 2: submit(queue, nothing); break;
      default: break;
    }
    submit(queue, log, {.bindings = {{"log", history.view(4 * uint64_t{i}, 4)}}});
    wanted[i] = value;
  }
  EXPECT_TRUE(succeeded(queue.wait_idle()));
  EXPECT_EQ(read_values<uint32_t>(history), wanted);
}

TEST_F(ApiQueue, AWaitBeforeItsSignalIsLegal) {
  InstantiateOptions options{.bindings = {{"data", data}, {"scratch", scratch}}};
  options.constants = {{"factor", 5U}, {"value", 2U}};
  const Graph graph = must_instantiate(step_list(), options);
  const Semaphore gate = semaphore();
  const Semaphore done = semaphore();
  const Submission submission = submit(device().queue(), graph, {.wait = {{gate, 3}}, .signal = {{done, 8}}});
  EXPECT_TRUE(fails_with(submission.wait_for(milliseconds(5)), Errc::timeout));
  EXPECT_FALSE(submission.is_done());
  EXPECT_TRUE(succeeded(gate.signal(2)));
  EXPECT_TRUE(fails_with(done.wait_for(8, milliseconds(5)), Errc::timeout));
  EXPECT_EQ(done.value(), 0U);
  EXPECT_TRUE(succeeded(gate.signal(4)));
  EXPECT_TRUE(succeeded(done.wait(8)));
  EXPECT_TRUE(succeeded(submission.wait()));
  EXPECT_EQ(done.value(), 8U);
  EXPECT_EQ(read_values<uint32_t>(data), repeated(7, 64));
}

TEST_F(ApiQueue, QueuesAreOrderedBySemaphores) {
  const Queue first = device().queue(0);
  const Queue second = device().queue(device().queue_count() - 1);
  const Graph graph = must_instantiate(step_list(), {.bindings = {{"data", data}, {"scratch", scratch}}});
  const Semaphore turn = semaphore();
  uint32_t wanted = 1;
  for (uint32_t i = 0; i < 40; ++i) {
    const SubmitInfo info{
        .constants = {{"factor", i + 1}, {"value", i}}, .wait = {{turn, i}}, .signal = {{turn, i + 1}}};
    submit(i % 2 == 0 ? first : second, graph, info);
    wanted = wanted * (i + 1) + i;
  }
  EXPECT_TRUE(succeeded(turn.wait(40)));
  EXPECT_EQ(read_values<uint32_t>(data), repeated(wanted, 64));
  EXPECT_TRUE(succeeded(first.wait_idle()));
  EXPECT_TRUE(succeeded(second.wait_idle()));
}

TEST_F(ApiQueue, SemaphoresOrderWorkOfSeveralDevices) {
  const auto other = Device::open(run_options().oracle);
  ASSERT_TRUE(succeeded(other));
  const Graph here = must_instantiate(step_list(), {.bindings = {{"data", data}, {"scratch", scratch}}});
  const auto far_data = other->allocate(256);
  const auto far_scratch = other->allocate(256);
  ASSERT_TRUE(succeeded(far_data) && succeeded(far_scratch));
  const auto there = other->instantiate(step_list(), {.bindings = {{"data", *far_data}, {"scratch", *far_scratch}}});
  ASSERT_TRUE(succeeded(there));
  const Semaphore timeline = semaphore();
  SubmitInfo info{.constants = {{"factor", 3U}, {"value", 1U}}};
  info.wait = {{timeline, 1}};
  info.signal = {{timeline, 2}};
  const Submission last = submit(other->queue(), *there, info);  // waits for what is submitted after it
  info.wait.clear();
  info.signal = {{timeline, 1}};
  const Submission first = submit(device().queue(), here, info);
  EXPECT_TRUE(succeeded(timeline.wait(2)));
  EXPECT_TRUE(succeeded(first.wait()));  // it signals before it is done
  EXPECT_TRUE(succeeded(last.wait()));
  EXPECT_EQ(read_values<uint32_t>(data), repeated(4, 64));
}

TEST_F(ApiQueue, SemaphoresOnlyGrow) {
  const Semaphore timeline = semaphore(10);
  EXPECT_EQ(timeline.value(), 10U);
  EXPECT_TRUE(succeeded(timeline.wait(10)));
  EXPECT_TRUE(fails_with(timeline.signal(10), Errc::invalid_argument, {.parts = {"10"}}));
  EXPECT_TRUE(fails_with(timeline.signal(3), Errc::invalid_argument, {.parts = {"3", "10"}}));
  Recorder rec;
  const Graph empty = must_instantiate(must_finish(rec));
  EXPECT_TRUE(fails_with(device().queue().submit(empty, {.signal = {{timeline, 10}}}), Errc::invalid_argument,
                         {.parts = {"10"}}));
  EXPECT_TRUE(fails_with(device().queue().submit(empty, {.signal = {{Semaphore(), 10}}}), Errc::invalid_argument));
  EXPECT_TRUE(fails_with(device().queue().submit(empty, {.wait = {{Semaphore(), 10}}}), Errc::invalid_argument));
  EXPECT_TRUE(succeeded(timeline.signal(11)));
  EXPECT_EQ(timeline.value(), 11U);
}

class ApiFailure : public ApiQueue {
 protected:
  /// Indirect counts over the device's limit, between two fills.
  CommandBuffer over_limit_list() const {
    Recorder rec;
    const BufferRef grid = rec.buffer("counts", 12);
    const BufferRef marks = rec.buffer("marks", 256);
    rec.fill(marks.view(0, 4), 1U).barrier();
    rec.dispatch_indirect(kernel("mark_groups"), grid, {.constants = {9U}, .bindings = {marks}});
    rec.barrier().fill(marks.view(4, 4), 2U);
    return must_finish(rec);
  }
  Graph failing_graph() {
    InstantiateOptions options{.bindings = {{"counts", counts}, {"marks", data}}};
    options.check_indirect = true;
    return must_instantiate(over_limit_list(), options);
  }
  Buffer counts = make_buffer(std::vector<uint32_t>{1, device().limits().max_groups[1] + 1, 1});
};

TEST_F(ApiFailure, IndirectCountsOverTheLimitLaunchNothingAndAreReported) {
  if (device().limits().max_groups[1] == UINT32_MAX) GTEST_SKIP() << "no count is over this device's limit";
  const Submission submission = submit(device().queue(), failing_graph());
  const uint32_t limit = device().limits().max_groups[1];
  EXPECT_TRUE(
      fails_with(submission.wait(), Errc::execution_failed, {.parts = {std::to_string(limit + 1)}, .command = 2}));
  std::vector<uint32_t> wanted = repeated(1, 64);
  wanted[1] = 2;
  EXPECT_EQ(read_values<uint32_t>(data), wanted) << "the rest of the list still runs";
  EXPECT_TRUE(fails_with(device().queue().wait_idle(), Errc::execution_failed));
  EXPECT_TRUE(succeeded(device().queue().wait_idle())) << "reported once";
}

TEST_F(ApiFailure, AFailedSubmissionFailsItsSemaphoresAndTheirWaiters) {
  if (device().limits().max_groups[1] == UINT32_MAX) GTEST_SKIP() << "no count is over this device's limit";
  InstantiateOptions options{.bindings = {{"data", data}, {"scratch", scratch}}};
  options.constants = {{"factor", 5U}, {"value", 2U}};
  const Graph good = must_instantiate(step_list(), options);
  const Semaphore first = semaphore();
  const Semaphore second = semaphore();
  // The waiters come first, so that all of it is in flight when the failure happens.
  const Queue other = device().queue(device().queue_count() - 1);
  const Semaphore gate = semaphore();
  const Submission failing = submit(device().queue(), failing_graph(), {.wait = {{gate, 1}}, .signal = {{first, 1}}});
  const bool two_queues = device().queue_count() > 1;
  const Submission waiter =
      submit(two_queues ? other : device().queue(), good, {.wait = {{first, 1}}, .signal = {{second, 1}}});
  EXPECT_TRUE(succeeded(gate.signal(1)));
  EXPECT_TRUE(fails_with(failing.wait(), Errc::execution_failed));
  EXPECT_TRUE(fails_with(waiter.wait(), Errc::dependency_failed));
  EXPECT_TRUE(fails_with(first.wait(1), Errc::dependency_failed));
  EXPECT_TRUE(fails_with(second.wait(1), Errc::dependency_failed));
  EXPECT_FALSE(device().queue().wait_idle().has_value());
  static_cast<void>(other.wait_idle().has_value());
  EXPECT_EQ(read_values<uint32_t>(data)[1], 2U) << "the waiter must not have run";

  const Submission late = submit(device().queue(), good, {.wait = {{first, 1}}});
  EXPECT_TRUE(fails_with(late.wait(), Errc::dependency_failed));
  EXPECT_FALSE(device().queue().wait_idle().has_value());
}

TEST_F(ApiFailure, TheQueueWorksOnAfterAFailedSubmission) {
  if (device().limits().max_groups[1] == UINT32_MAX) GTEST_SKIP() << "no count is over this device's limit";
  const Submission failing = submit(device().queue(), failing_graph());
  EXPECT_TRUE(fails_with(failing.wait(), Errc::execution_failed));
  EXPECT_TRUE(succeeded(data.write(0, repeated(2, 64))));
  InstantiateOptions options{.bindings = {{"data", data}, {"scratch", scratch}}};
  options.constants = {{"factor", 5U}, {"value", 2U}};
  const Submission good = submit(device().queue(), must_instantiate(step_list(), options));
  EXPECT_TRUE(succeeded(good.wait()));
  EXPECT_EQ(read_values<uint32_t>(data), repeated(12, 64));
  EXPECT_FALSE(device().queue().wait_idle().has_value());
}

}  // namespace
}  // namespace pianola::conformance
