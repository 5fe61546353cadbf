// SPDX-License-Identifier: Apache-2.0
// Many threads at once: recording, planning, instantiating, submitting and rebinding on one device.
#include <atomic>
#include <thread>

#include "fixture.hpp"

namespace pianola::conformance {
namespace {

class ApiThreads : public ApiTest {
 protected:
  /// Runs `work(thread)` on this many threads at once and waits for them.
  template <class Work>
  static void on_threads(uint32_t count, Work&& work) {
    std::atomic<uint32_t> ready{0};
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < count; ++i) {
      threads.emplace_back([&, i] {
        ready.fetch_add(1);
        while (ready.load() < count) std::this_thread::yield();
        work(i);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  /// `count` dispatches in a chain: data = data * 3 + i.
  static CommandBuffer chain(uint32_t count) {
    Recorder rec;
    const BufferRef data = rec.buffer("data", 256);
    for (uint32_t i = 0; i < count; ++i) {
      rec.dispatch(kernel("multiply_add"), {.constants = {3U, i, 64U}, .bindings = {data}}).barrier();
    }
    return must_finish(rec);
  }
  static uint32_t chained(uint32_t value, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) value = value * 3 + i;
    return value;
  }
};

// L4
TEST_F(ApiThreads, EachRecordsAndInstantiatesItsOwnAndEveryCommandRuns) {
  on_threads(8, [](uint32_t thread) {
    for (uint32_t round = 0; round < 5; ++round) {
      const uint32_t length = 20 + 7 * thread + round;
      const CommandBuffer commands = chain(length);
      const Buffer data = make_buffer(repeated(thread, 64));
      const Graph graph = must_instantiate(commands, {.bindings = {{"data", data}}});
      const auto submission = device().queue().submit(graph);
      ASSERT_TRUE(succeeded(submission));
      ASSERT_TRUE(succeeded(submission->wait()));
      ASSERT_EQ(read_values<uint32_t>(data), repeated(chained(thread, length), 64));
    }
  });
}

// L4
TEST_F(ApiThreads, OneRecordingIsInstantiatedByAll) {
  const CommandBuffer commands = chain(50);
  on_threads(8, [&](uint32_t thread) {
    const Buffer data = make_buffer(repeated(thread, 64));
    const auto submission = device().queue().run(commands, {.bindings = {{"data", data}}});
    ASSERT_TRUE(succeeded(submission));
    ASSERT_TRUE(succeeded(submission->wait()));
    EXPECT_EQ(read_values<uint32_t>(data), repeated(chained(thread, 50), 64));
  });
}

TEST_F(ApiThreads, OneGraphIsSubmittedByAllWithTheirOwnBindings) {
  const Graph graph = must_instantiate(chain(10));
  on_threads(8, [&](uint32_t thread) {
    const Queue queue = device().queue(thread % device().queue_count());
    const Buffer data = make_buffer(repeated(thread, 64));
    std::vector<Submission> submissions;
    for (int i = 0; i < 20; ++i) {
      auto submission = queue.submit(graph, {.bindings = {{"data", data}}});
      ASSERT_TRUE(succeeded(submission));
      submissions.push_back(*submission);
    }
    for (const Submission& submission : submissions) ASSERT_TRUE(succeeded(submission.wait()));
    uint32_t wanted = thread;
    for (int i = 0; i < 20; ++i) wanted = chained(wanted, 10);
    EXPECT_EQ(read_values<uint32_t>(data), repeated(wanted, 64));
  });
}

TEST_F(ApiThreads, SemaphoresPassTurnsBetweenThreads) {
  const Graph graph = must_instantiate(chain(3));
  const auto turn = Semaphore::create();
  ASSERT_TRUE(succeeded(turn));
  const Buffer data = make_buffer(repeated(1, 64));
  constexpr uint32_t threads = 4;
  constexpr uint32_t rounds = 20;
  on_threads(threads, [&](uint32_t thread) {
    const Queue queue = device().queue(thread % device().queue_count());
    for (uint32_t i = 0; i < rounds; ++i) {
      const uint64_t number = uint64_t{i} * threads + thread;
      ASSERT_TRUE(succeeded(turn->wait(number)));
      const SubmitInfo info{.bindings = {{"data", data}}, .signal = {{*turn, number + 1}}};
      ASSERT_TRUE(succeeded(queue.submit(graph, info)));
    }
  });
  ASSERT_TRUE(succeeded(turn->wait(uint64_t{rounds} * threads)));
  uint32_t wanted = 1;
  for (uint32_t i = 0; i < rounds * threads; ++i) wanted = chained(wanted, 3);
  EXPECT_EQ(read_values<uint32_t>(data), repeated(wanted, 64));
}

TEST_F(ApiThreads, WaitersOnManyThreadsAllWake) {
  const auto gate = Semaphore::create();
  ASSERT_TRUE(succeeded(gate));
  const Graph graph = must_instantiate(chain(3));
  const Buffer data = make_buffer(repeated(1, 64));
  const auto submission = device().queue().submit(graph, {.bindings = {{"data", data}}, .wait = {{*gate, 1}}});
  ASSERT_TRUE(succeeded(submission));
  on_threads(8, [&](uint32_t thread) {
    if (thread == 7) {
      EXPECT_TRUE(succeeded(gate->signal(1)));
    }
    EXPECT_TRUE(succeeded(thread % 2 == 0 ? submission->wait() : gate->wait(1)));
  });
  EXPECT_TRUE(succeeded(submission->wait()));
}

}  // namespace
}  // namespace pianola::conformance
