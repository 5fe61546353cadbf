// SPDX-License-Identifier: Apache-2.0
// Order between the queues of one device: what is left to its streams, what the host holds back, what fails.
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "backend/completion.hpp"
#include "driver_gate.hpp"

namespace pianola::test {
namespace {

using namespace std::chrono_literals;

class DriverQueuesThreads : public ::testing::TestWithParam<Face> {
 protected:
  void SetUp() override {
    prepare(sim);
    gate_is_open = true;
    sim.add(driver_kernels().kernels()[0], gated_add);
    device = Device::open(GetParam().spec(), {.driver_path = sim.path()}).value();
    memory = device.allocate(64).value();
    ASSERT_TRUE(memory.write(0, std::vector<uint32_t>(16)));
  }
  void TearDown() override {
    gate_is_open = true;
    memory = {};
    device = {};
    expect_nothing_left(sim);
  }
  /// Moves all words one place on and writes `value` in front, so that the words tell in which order steps ran. It
  /// gets no further than the gate while that is shut.
  Graph step(uint32_t value, const InstantiateOptions& options = {}) {
    Recorder rec;
    const BufferRef x = rec.buffer(memory), y = rec.buffer(device.allocate(64).value());
    const BufferRef zero = rec.buffer(device.allocate(64).value()), own = rec.buffer(device.allocate(64).value());
    rec.fill(zero, 0U).barrier();
    rec.dispatch(driver_kernels()["add_value"], {.constants = {value, 16U}, .bindings = {zero, own}}).barrier();
    rec.copy(y.view(0, 60), x.view(0, 60)).barrier();
    rec.copy(x.view(4, 60), y.view(0, 60)).copy(x.view(0, 4), own.view(0, 4));
    return device.instantiate(rec.finish().value(), options).value();
  }
  Submission submit(uint32_t queue, const Graph& graph, const SubmitInfo& info = {}) {
    return device.queue(queue).submit(graph, info).value();
  }
  /// The values of the last steps, the last one first.
  std::vector<uint32_t> steps(size_t count) const {
    std::vector<uint32_t> words(count);
    EXPECT_TRUE(memory.read(0, words));
    return words;
  }
  int64_t waits() const { return sim.count(GetParam().is_cuda() ? "cuStreamWaitEvent" : "hipStreamWaitEvent"); }
  int64_t launches() const { return sim.count(GetParam().is_cuda() ? "cuGraphLaunch" : "hipGraphLaunch"); }
  static Errc error_of(const Submission& submission) {
    const Result<> result = submission.wait();
    return result ? Errc{} : result.error().code;
  }

  sim::SimDriver sim{GetParam().path};
  Device device;
  Buffer memory;
};

Semaphore semaphore() {
  return Semaphore::create().value();
}

TEST_P(DriverQueuesThreads, AWaitForWorkInFlightIsLeftToTheDevice) {
  const Semaphore turn = semaphore();
  const Graph one = step(1), two = step(2), three = step(3);
  gate_is_open = false;
  const int64_t waited = waits(), launched = launches();
  const Submission first = submit(0, one, {.signal = {{turn, 1}}});
  const Submission second = submit(1, two, {.wait = {{turn, 1}}, .signal = {{turn, 2}}});
  const Submission third = submit(0, three, {.wait = {{turn, 2}}, .signal = {{turn, 3}}});
  EXPECT_EQ(launches() - launched, 3) << "all are with the device before any of them has run";
  EXPECT_EQ(waits() - waited, 2);
  EXPECT_EQ(turn.value(), 0U);
  EXPECT_FALSE(first.is_done() || second.is_done() || third.is_done());
  gate_is_open = true;
  EXPECT_TRUE(third.wait());
  EXPECT_EQ(turn.value(), 3U);
  EXPECT_TRUE(first.wait());
  EXPECT_TRUE(second.wait());
  EXPECT_EQ(steps(4), (std::vector<uint32_t>{3, 2, 1, 0}));
}

TEST_P(DriverQueuesThreads, AWaitWithinOneQueueNeedsNoEvent) {
  const Semaphore turn = semaphore();
  const Graph one = step(1), two = step(2);
  gate_is_open = false;
  const int64_t waited = waits();
  submit(0, one, {.signal = {{turn, 1}}});
  const Submission second = submit(0, two, {.wait = {{turn, 1}}});
  EXPECT_EQ(waits(), waited);
  gate_is_open = true;
  EXPECT_TRUE(second.wait());
  EXPECT_EQ(steps(2), (std::vector<uint32_t>{2, 1}));
}

TEST_P(DriverQueuesThreads, AValueThatNoSubmissionPromisesIsWaitedForOnTheHost) {
  const Semaphore turn = semaphore();
  const Graph one = step(1), two = step(2);
  const Submission first = submit(0, one, {.signal = {{turn, 1}}});
  const Submission second = submit(1, two, {.wait = {{turn, 2}}});
  EXPECT_TRUE(first.wait());
  EXPECT_EQ(second.wait_for(20ms).error().code, Errc::timeout);
  ASSERT_TRUE(turn.signal(2));
  EXPECT_TRUE(second.wait());
  EXPECT_EQ(steps(2), (std::vector<uint32_t>{2, 1}));
}

TEST_P(DriverQueuesThreads, AnEmptyGraphEndsNoSoonerThanWhatItWaitsFor) {
  Recorder rec;
  const Graph empty = device.instantiate(rec.finish().value()).value();
  const Graph one = step(1), two = step(2);
  const Semaphore turn = semaphore();
  gate_is_open = false;
  submit(0, one, {.signal = {{turn, 1}}});
  const Submission second = submit(1, empty, {.wait = {{turn, 1}}, .signal = {{turn, 2}}});
  const Submission third = submit(1, two, {.wait = {{turn, 2}}});
  EXPECT_EQ(second.wait_for(20ms).error().code, Errc::timeout);
  EXPECT_EQ(turn.value(), 0U);
  gate_is_open = true;
  EXPECT_TRUE(third.wait());
  EXPECT_TRUE(second.wait());
  EXPECT_EQ(steps(2), (std::vector<uint32_t>{2, 1}));
}

TEST_P(DriverQueuesThreads, AWaiterThatCannotBeLaunchedDoesNotFailWhatItWaitsFor) {
  const Graph one = step(1), two = step(2);
  ASSERT_EQ(error_of(submit(1, two)), Errc{}) << "what the queue makes once is there";
  Semaphore turn;
  Submission first, second;
  // The waiter is submitted on a thread of its own, since the call that restores its context may be the one that fails.
  const auto run = [&](const std::function<void()>& begin) {
    turn = semaphore();
    gate_is_open = false;
    first = submit(0, one, {.signal = {{turn, 1}}});
    begin();
    std::thread other([&] { second = submit(1, two, {.wait = {{turn, 1}}, .signal = {{turn, 2}}}); });
    std::this_thread::sleep_for(5ms);
    gate_is_open = true;
    other.join();
  };
  sim.gather_sites(true);
  run([] {});
  sim.gather_sites(false);
  ASSERT_EQ(error_of(second), Errc{});
  std::string failed;
  for (const uint64_t site : sim.sites()) {
    run([&] { sim.fail_at(site, 0, 2); });
    const Errc error = error_of(second);
    const std::string call = sim.failed_call();
    sim.fail_after(-1, 0);
    // Others are calls of the first one, or of those who look for its end.
    if (call.find("StreamWaitEvent") == std::string::npos && call.find("GraphLaunch") == std::string::npos) continue;
    if (error == Errc{}) continue;
    EXPECT_EQ(error_of(first), Errc{}) << call;
    EXPECT_EQ(turn.value(), 1U) << call;
    failed += call + " ";
  }
  EXPECT_NE(failed.find("StreamWaitEvent"), std::string::npos) << failed;
  EXPECT_NE(failed.find("GraphLaunch"), std::string::npos) << failed;
}

TEST_P(DriverQueuesThreads, AJobWhoseWaitHasFailedCompletesAfterThoseBeforeIt) {
  const Graph one = step(1), two = step(2), three = step(3);
  const Semaphore turn = semaphore(), broken = semaphore();
  broken.state()->fail(Error{.code = Errc::execution_failed, .message = "as asked"});
  gate_is_open = false;
  const Submission first = submit(0, one, {.signal = {{turn, 1}}});
  const Submission second = submit(0, two, {.wait = {{broken, 1}}, .signal = {{turn, 2}}});
  const Submission third = submit(1, three, {.wait = {{turn, 1}, {broken, 1}}, .signal = {{turn, 3}}});
  EXPECT_FALSE(second.is_done());
  EXPECT_FALSE(third.is_done());
  gate_is_open = true;
  EXPECT_EQ(error_of(third), Errc::dependency_failed);
  EXPECT_EQ(error_of(second), Errc::dependency_failed);
  EXPECT_EQ(error_of(first), Errc{}) << "it waited for nothing";
  EXPECT_EQ(turn.value(), 1U);
  EXPECT_EQ(steps(2), (std::vector<uint32_t>{1, 0}));
}

TEST_P(DriverQueuesThreads, ALostDeviceFailsAllThatWaitOnIt) {
  const Graph one = step(1), two = step(2);
  const Semaphore turn = semaphore();
  gate_is_open = false;
  const Submission first = submit(0, one, {.signal = {{turn, 1}}});
  const Submission second = submit(1, two, {.wait = {{turn, 1}}, .signal = {{turn, 2}}});
  sim.fault_after(0);
  gate_is_open = true;
  EXPECT_NE(error_of(second), Errc{});
  EXPECT_NE(error_of(first), Errc{});
  EXPECT_FALSE(turn.wait(1).has_value());
  sim.fault_after(-1);
}

TEST_P(DriverQueuesThreads, AThousandHandOversBetweenTwoQueuesKeepTheirOrder) {
  for (const bool native : {true, false}) {
    const Semaphore turn = semaphore();
    std::vector<Graph> graphs;
    for (uint32_t i = 1; i <= 8; ++i) graphs.push_back(step(i, {.native_graph = native}));
    Submission last;
    for (uint32_t i = 0; i < 1000; ++i) {
      last = submit(i % 2, graphs[i % 8], {.wait = {{turn, i}}, .signal = {{turn, i + 1}}});
    }
    EXPECT_TRUE(last.wait());
    EXPECT_EQ(steps(8), (std::vector<uint32_t>{8, 7, 6, 5, 4, 3, 2, 1})) << native;
  }
}

TEST_P(DriverQueuesThreads, ManyThreadsHandOverBetweenTwoQueues) {
  const Graph graph = step(1);
  const auto work = [&] {
    const Semaphore turn = semaphore();
    Submission last;
    for (uint32_t i = 0; i < 100; ++i) {
      last = submit(i % 2, graph, {.wait = {{turn, i}}, .signal = {{turn, i + 1}}});
      if (i % 10 == 0) {
        EXPECT_TRUE(last.wait());
      }
    }
    EXPECT_TRUE(turn.wait(100));
    EXPECT_TRUE(last.wait());
  };
  std::thread one(work), two(work), three(work);
  one.join();
  two.join();
  three.join();
}

INSTANTIATE_TEST_SUITE_P(Faces, DriverQueuesThreads, ::testing::ValuesIn(faces), face_name<Face>);

}  // namespace
}  // namespace pianola::test
