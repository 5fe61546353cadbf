// SPDX-License-Identifier: Apache-2.0
// How submissions on a driver come to their end: who completes them, in which order, and what outlives what.
#include <atomic>
#include <chrono>
#include <thread>

#include "driver_gate.hpp"
#include "pianola/interop/cuda.hpp"

namespace pianola::test {
namespace {

using namespace std::chrono_literals;

class DriverFlightsThreads : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    gate_is_open = true;
    sim.add(driver_kernels().kernels()[0], gated_add);
  }
  void TearDown() override {
    gate_is_open = true;
    DriverTest::TearDown();
  }
  /// Adds 1 to each of 64 words of slot "x".
  Graph increment(const std::vector<SlotBinding>& bindings = {}) {
    Recorder recorder;
    const BufferRef x = recorder.buffer("x", 256);
    const BufferRef y = recorder.buffer("y", 256);
    recorder.dispatch(driver_kernels()["add_value"], {.constants = {1U, 64U}, .bindings = {x, y}}).barrier();
    recorder.copy(x, y);
    return device.instantiate(recorder.finish().value(), {.bindings = bindings}).value();
  }
  Graph bound_increment() {
    return increment({{"x", make_buffer(std::vector<uint32_t>(64))}, {"y", make_buffer(std::vector<uint32_t>(64))}});
  }
  void run_two_jobs_of_a_queue_that_goes_with_the_first();
  /// Memory that tells on which thread it was let go of.
  using Thread = std::atomic<std::thread::id>;
  Buffer watched(const std::shared_ptr<Thread>& released_on) {
    const Buffer memory = device.allocate(256).value();
    const std::shared_ptr<void> owner(memory.native_pointer(),
                                      [memory, released_on](void*) { *released_on = std::this_thread::get_id(); });
    return Buffer::import(device, {.pointer = memory.native_pointer(), .size = 256, .owner = owner}).value();
  }
};

TEST_F(DriverFlightsThreads, TheWaitingThreadCompletesWhatItWaitsFor) {
  const Graph graph = increment({{"y", make_buffer(std::vector<uint32_t>(64))}});
  // The queue's thread may come first by chance, not always.
  for (int i = 0; i < 1000; ++i) {
    const auto released_on = std::make_shared<Thread>();
    const Submission done = device.queue().submit(graph, {.bindings = {{"x", watched(released_on)}}}).value();
    ASSERT_TRUE(done.wait());
    if (released_on->load() == std::this_thread::get_id()) return;
  }
  FAIL() << "never on this thread";
}

TEST_F(DriverFlightsThreads, WhatNobodyWaitsForCompletesAllTheSame) {
  const Graph graph = increment({{"y", make_buffer(std::vector<uint32_t>(64))}});
  const auto released_on = std::make_shared<Thread>();
  const Submission done = device.queue().submit(graph, {.bindings = {{"x", watched(released_on)}}}).value();
  for (int i = 0; i < 20000 && released_on->load() == std::thread::id(); ++i) std::this_thread::sleep_for(1ms);
  EXPECT_NE(released_on->load(), std::thread::id());
  EXPECT_NE(released_on->load(), std::this_thread::get_id());
  EXPECT_TRUE(done.wait());  // the queue's thread lets go of the rest before the end of the test
}

TEST_F(DriverFlightsThreads, AskingIsEnoughToSeeTheEnd) {
  const Graph graph = bound_increment();
  const Submission done = device.queue().submit(graph).value();
  while (!done.is_done()) std::this_thread::yield();
  EXPECT_TRUE(done.wait());
}

TEST_F(DriverFlightsThreads, ATimeoutIsKeptWhileWorkIsInFlight) {
  const Graph graph = bound_increment();
  gate_is_open = false;
  const Submission first = device.queue().submit(graph).value();
  const Submission second = device.queue().submit(graph).value();
  EXPECT_EQ(first.wait_for(0ns).error().code, Errc::timeout);
  EXPECT_EQ(second.wait_for(1ms).error().code, Errc::timeout);
  EXPECT_EQ(second.wait_for(20ms).error().code, Errc::timeout);  // longer than a thread looks by itself
  EXPECT_FALSE(first.is_done());
  gate_is_open = true;
  EXPECT_TRUE(second.wait_for(20s));
  EXPECT_TRUE(first.is_done());
}

TEST_F(DriverFlightsThreads, ALongWaitSleepsBetweenLooks) {
  const Graph graph = bound_increment();
  gate_is_open = false;
  const Submission done = device.queue().submit(graph).value();
  int64_t looks = 0;
  std::thread opens([&] {
    std::this_thread::sleep_for(100ms);
    const int64_t before = sim.count("cuEventQuery");
    std::this_thread::sleep_for(100ms);
    looks = sim.count("cuEventQuery") - before;
    gate_is_open = true;
  });
  EXPECT_TRUE(done.wait());
  opens.join();
  EXPECT_LE(looks, 200);
}

// A lane that was given work before the failure runs it to its end, and the submission ends after it.
TEST_F(DriverFlightsThreads, AStreamReplayThatFailsHalfwayEndsAfterWhatItStarted) {
  Recorder recorder;
  const BufferRef p = recorder.buffer("p", 256);
  const BufferRef q = recorder.buffer("q", 256);
  const BufferRef x = recorder.buffer("x", 256);
  const BufferRef y = recorder.buffer("y", 256);
  recorder.fill(p, 1U)
      .dispatch(driver_kernels()["add_value"], {.constants = {1U, 64U}, .bindings = {x, y}})
      .fill(q, 1U);
  std::vector<SlotBinding> bindings;
  for (const char* name : {"p", "q", "x", "y"}) bindings.push_back({name, make_buffer(std::vector<uint32_t>(64))});
  const Graph graph =
      device.instantiate(recorder.finish().value(), {.plan = {.lanes = 2}, .bindings = bindings, .native_graph = false})
          .value();
  ASSERT_EQ(graph.plan().stats().lanes, 2U);
  ASSERT_TRUE(device.queue().submit(graph).value().wait());
  int halfway = 0;
  std::string failed;
  for (int64_t calls = 0; failed != "cuEventQuery"; ++calls) {
    // The lane of the dispatch gets no further, while the main one may.
    sim.hold("add_value");
    int64_t held = 0;
    std::atomic<bool> is_issued{false};
    std::thread lets_go([&] {
      // The call that issues may wait itself.
      for (int i = 0; i < 100 && !is_issued; ++i) std::this_thread::sleep_for(1ms);
      std::this_thread::sleep_for(10ms);
      held = sim.held();
      sim.hold("");
    });
    sim.fail_after(calls, 1);
    Result<> done;
    bool is_after = false;
    // On a thread of its own, since the call that restores its context may be the one that fails.
    std::thread([&] {
      const Submission submission = device.queue().submit(graph).value();
      is_issued = true;
      done = submission.wait();
      is_after = sim.held() == 0;
    }).join();
    failed = sim.failed_call();
    sim.fail_after(-1, 0);
    lets_go.join();
    EXPECT_TRUE(is_after) << failed << ", call " << calls;
    if (done) continue;
    EXPECT_EQ(done.error().native_call, failed);
    if (held != 0 && failed == "cuLaunchKernel") ++halfway;
  }
  EXPECT_GT(halfway, 0);
}

TEST_F(DriverFlightsThreads, SignalsComeInOrderWithoutAnybodyWaitingForTheSubmissions) {
  const Graph graph = bound_increment();
  const Semaphore timeline = Semaphore::create().value();
  std::vector<Submission> all;
  for (uint64_t i = 1; i <= 200; ++i) {
    all.push_back(device.queue().submit(graph, {.signal = {{timeline, i}}}).value());
  }
  ASSERT_TRUE(timeline.wait(200));
  for (const Submission& one : all) EXPECT_TRUE(one.wait());
}

TEST_F(DriverFlightsThreads, AWaitCompletesEverythingBeforeIt) {
  const Buffer x = make_buffer(std::vector<uint32_t>(64));
  const Graph graph = increment({{"x", x}, {"y", make_buffer(std::vector<uint32_t>(64))}});
  std::vector<Submission> all;
  for (int i = 0; i < 100; ++i) all.push_back(device.queue().submit(graph).value());
  ASSERT_TRUE(all.back().wait());
  for (const Submission& one : all) EXPECT_TRUE(one.is_done());
  EXPECT_EQ(read(x), std::vector<uint32_t>(64, 100));
}

TEST_F(DriverFlightsThreads, ManyThreadsSubmitAndWaitAtOnce) {
  const Graph graph = increment();
  const Buffer y = make_buffer(std::vector<uint32_t>(64));
  std::vector<Buffer> x;
  for (int t = 0; t < 8; ++t) x.push_back(make_buffer(std::vector<uint32_t>(64)));
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const Submission done = device.queue().submit(graph, {.bindings = {{"x", x[t]}, {"y", y}}}).value();
        if (i % 3 == 1) (void)done.is_done();
        if (i % 3 != 0) continue;
        EXPECT_TRUE(done.wait());
      }
      EXPECT_TRUE(device.queue().wait_idle());
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Buffer& buffer : x) EXPECT_EQ(read(buffer), std::vector<uint32_t>(64, 50));
}

TEST_F(DriverFlightsThreads, ManyThreadsWaitForOneSubmission) {
  const Graph graph = bound_increment();
  for (int i = 0; i < 50; ++i) {
    gate_is_open = false;
    const Submission done = device.queue().submit(graph).value();
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) threads.emplace_back([&] { EXPECT_TRUE(done.wait()); });
    gate_is_open = true;
    for (std::thread& thread : threads) thread.join();
  }
}

TEST_F(DriverFlightsThreads, TheLastHandleMayGoOnTheWaitingThread) {
  for (int i = 0; i < 20; ++i) {
    gate_is_open = false;
    Submission done;
    {
      const Graph graph = bound_increment();
      ASSERT_TRUE(device.queue().submit(graph));
      done = device.queue().submit(graph).value();
    }
    device = {};
    gate_is_open = true;
    ASSERT_TRUE(done.wait());
    done = {};
    expect_nothing_left(sim);
    device = Device::open("cuda:0", {.driver_path = sim.path()}).value();
  }
}

TEST_F(DriverFlightsThreads, TheLastHandleOfAQueueMayGoWithOneOfItsJobs) {
  static std::atomic<int> launched{0};
  launched = 0;
  sim.add(driver_kernels().kernels()[0], [](const pianola_host_launch* launch) {
    if (launched++ == 0) return add_value(launch);
    gated_add(launch);
  });
  {
    void* const stream = interop::cuda::native_stream(device.queue(3)).value();
    const Graph graph = increment();
    const Buffer x = make_buffer(std::vector<uint32_t>(64)), y = make_buffer(std::vector<uint32_t>(64));
    Queue queue = interop::cuda::import_queue(device, stream).value();
    gate_is_open = false;
    Submission one, two;
    {
      const auto owner = std::make_shared<std::pair<Buffer, Queue>>(x, queue);
      const Buffer held = Buffer::import(device, {.pointer = x.native_pointer(), .size = 256, .owner = owner}).value();
      one = queue.submit(graph, {.bindings = {{"x", held}, {"y", y}}}).value();
      two = queue.submit(graph, {.bindings = {{"x", x}, {"y", y}}}).value();
    }
    queue = {};
    std::thread opens([] {
      std::this_thread::sleep_for(50ms);
      gate_is_open = true;
    });
    EXPECT_TRUE(one.wait());
    EXPECT_TRUE(two.wait());
    opens.join();
    EXPECT_EQ(read(x), std::vector<uint32_t>(64, 2));
  }
}

void DriverFlightsThreads::run_two_jobs_of_a_queue_that_goes_with_the_first() {
  const Graph graph = increment();
  const Buffer x = make_buffer(std::vector<uint32_t>(64)), y = make_buffer(std::vector<uint32_t>(64));
  Semaphore turn = Semaphore::create().value();
  Queue queue = interop::cuda::import_queue(device, interop::cuda::native_stream(device.queue(3)).value()).value();
  Submission one, two;
  {
    const auto owner = std::make_shared<std::pair<Buffer, Queue>>(x, queue);
    const Buffer held = Buffer::import(device, {.pointer = x.native_pointer(), .size = 256, .owner = owner}).value();
    one = queue.submit(graph, {.bindings = {{"x", held}, {"y", y}}}).value();
    two = queue.submit(graph, {.bindings = {{"x", x}, {"y", y}}, .wait = {{turn, 1}}}).value();
  }
  queue = {};
  ASSERT_TRUE(one.wait());
  EXPECT_EQ(two.wait_for(1ms).error().code, Errc::timeout);
  ASSERT_TRUE(turn.signal(1));
  ASSERT_TRUE(two.wait());
  EXPECT_EQ(read(x), std::vector<uint32_t>(64, 2));
}

TEST_F(DriverFlightsThreads, AQueueThatWentWithOneOfItsJobsStillRunsThoseThatWait) {
  for (int i = 0; i < 10; ++i) {
    run_two_jobs_of_a_queue_that_goes_with_the_first();
    device = {};
    expect_nothing_left(sim);
    device = Device::open("cuda:0", {.driver_path = sim.path()}).value();
  }
}

TEST_F(DriverFlightsThreads, DroppingAQueueWaitsForNoSemaphore) {
  const Graph graph = bound_increment();
  void* const stream = interop::cuda::native_stream(device.queue(3)).value();
  for (int i = 0; i < 10; ++i) {
    Semaphore turn = Semaphore::create().value();
    Queue queue = interop::cuda::import_queue(device, stream).value();
    const Submission held = queue.submit(graph, {.wait = {{turn, 1}}}).value();
    const Submission behind = queue.submit(graph).value();
    queue = {};
    EXPECT_FALSE(held.is_done() || behind.is_done());
    ASSERT_TRUE(turn.signal(1));
    ASSERT_TRUE(behind.wait());
    EXPECT_TRUE(held.wait());
  }
}

TEST_F(DriverFlightsThreads, EverySubmissionOfALostDeviceFails) {
  const Graph graph = bound_increment();
  gate_is_open = false;
  std::vector<Submission> all;
  for (int i = 0; i < 5; ++i) all.push_back(device.queue().submit(graph).value());
  sim.fault_after(0);
  gate_is_open = true;
  EXPECT_FALSE(all.back().wait());
  int faults = 0;
  for (const Submission& one : all) {
    ASSERT_FALSE(one.wait());
    faults += one.wait().error().code == Errc::execution_failed ? 1 : 0;
    EXPECT_EQ(one.wait().error().native_code, 700);
  }
  EXPECT_EQ(faults, 1);
  EXPECT_EQ(device.queue().submit(graph).value().wait().error().code, Errc::device_lost);
  sim.revive();
}

}  // namespace
}  // namespace pianola::test
