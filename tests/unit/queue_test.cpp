// SPDX-License-Identifier: Apache-2.0
// Submissions in flight: order, bindings, lifetimes, failures.
#include <thread>

#include "cpu_fixture.hpp"

namespace pianola {
namespace {

using std::chrono::seconds;

class QueueThreads : public CpuFixture {
 protected:
  /// Adds `value` to 64 words of slot "data" after multiplying them by `factor`.
  static CommandBuffer step(uint32_t factor, uint32_t value) {
    Recorder recorder;
    const BufferRef data = recorder.buffer("data", 64 * 4, {.alignment = 4});
    recorder.dispatch(kernels()["multiply_add"], {.constants = {factor, value, 64U}, .bindings = {data}});
    return finish(recorder);
  }
  static SubmitInfo on(const Buffer& data) { return {.bindings = {{"data", data}}}; }
};

TEST_F(QueueThreads, SubmissionsOfOneQueueRunInOrder) {
  const Device device = open();
  const Graph twice = instantiate(device, step(2, 0));
  const Graph plus = instantiate(device, step(1, 3));
  const Buffer data = words(device, 64, 1);
  const Semaphore go = *Semaphore::create();
  SubmitInfo first = on(data);
  first.wait = {{go, 1}};
  const Queue queue = device.queue();
  uint32_t expected = 2;
  ASSERT_TRUE(queue.submit(twice, first));
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(queue.submit(i % 3 == 0 ? twice : plus, on(data)));
    expected = i % 3 == 0 ? expected * 2 : expected + 3;
  }
  ASSERT_TRUE(go.signal(1));
  ASSERT_TRUE(queue.wait_idle());
  EXPECT_EQ(contents(data), std::vector<uint32_t>(64, expected));
}

TEST_F(QueueThreads, SubmissionKeepsTheBindingsItWasGiven) {
  const Device device = open();
  const Graph graph = instantiate(device, step(1, 1));
  const std::vector<Buffer> data = {words(device, 64), words(device, 64, 10), words(device, 64, 20)};
  const Semaphore go = *Semaphore::create();
  for (const Buffer& buffer : data) {
    SubmitInfo info = on(buffer);
    info.wait = {{go, 1}};
    ASSERT_TRUE(device.queue().submit(graph, info));
  }
  EXPECT_EQ(device.queue().submit(graph).error().code, Errc::unbound);
  ASSERT_TRUE(go.signal(1));
  ASSERT_TRUE(device.queue().wait_idle());
  for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(contents(data[i]), std::vector<uint32_t>(64, i * 10 + 1));
}

TEST_F(QueueThreads, GraphsOfOneRecordingAreIndependent) {
  const Device device = open();
  const CommandBuffer commands = step(1, 1);
  const Buffer first = words(device, 64);
  const Buffer second = words(device, 64);
  const Graph a = instantiate(device, commands, {.bindings = {{"data", first}}});
  const Graph b = instantiate(device, commands, {.bindings = {{"data", second}}});
  replay(device, a);
  replay(device, a);
  replay(device, b);
  EXPECT_EQ(contents(first)[0], 2U);
  EXPECT_EQ(contents(second)[0], 1U);
}

TEST_F(QueueThreads, QueuesAreOrderedBySemaphoresOfAnyDevice) {
  const Device one = open();
  const Device two = open({.threads = 1});
  auto memory = std::make_shared<std::vector<uint32_t>>(64, 1);
  const NativeMemory native{.pointer = memory->data(), .size = 256, .owner = memory};
  const Graph twice = instantiate(one, step(2, 0), {.bindings = {{"data", *Buffer::import(one, native)}}});
  const Graph plus = instantiate(two, step(1, 3), {.bindings = {{"data", *Buffer::import(two, native)}}});
  const Semaphore turn = *Semaphore::create();
  uint32_t expected = 1;
  for (uint64_t i = 0; i < 100; ++i) {
    ASSERT_TRUE(two.queue(1).submit(plus, {.wait = {{turn, 2 * i + 1}}, .signal = {{turn, 2 * i + 2}}}));
    ASSERT_TRUE(one.queue(1).submit(twice, {.wait = {{turn, 2 * i}}, .signal = {{turn, 2 * i + 1}}}));
    expected = expected * 2 + 3;
  }
  ASSERT_TRUE(turn.wait_for(200, seconds(60)));
  EXPECT_EQ(*memory, std::vector<uint32_t>(64, expected));
}

TEST_F(QueueThreads, EverythingStaysAliveUntilTheLastSubmissionIsDone) {
  for (int order = 0; order < 6; ++order) {
    auto memory = std::make_shared<std::vector<uint32_t>>(64, 1);
    const std::weak_ptr<std::vector<uint32_t>> watch = memory;
    std::optional<Device> device = open();
    std::optional<Queue> queue = device->queue();
    std::optional<CommandBuffer> commands = step(3, 4);
    std::optional<Graph> graph = instantiate(*device, *commands);
    std::optional<Buffer> data =
        Buffer::import(*device, {.pointer = memory->data(), .size = 256, .owner = memory}).value();
    const Semaphore go = *Semaphore::create();
    SubmitInfo info = on(*data);
    info.wait = {{go, 1}};
    const auto submission = queue->submit(*graph, info);
    info = {};
    ASSERT_TRUE(submission);
    for (int i = 0; i < 5; ++i) {
      switch ((i * (order == 5 ? 4 : 1) + order) % 5) {
        case 0: device.reset(); break;
        case 1: queue.reset(); break;
        case 2: commands.reset(); break;
        case 3: graph.reset(); break;
        default: data.reset();
      }
    }
    EXPECT_FALSE(submission->is_done());
    std::vector<uint32_t>* words = memory.get();
    memory.reset();
    ASSERT_FALSE(watch.expired());
    const auto kept = watch.lock();
    ASSERT_TRUE(go.signal(1));
    ASSERT_TRUE(submission->wait_for(seconds(60)));
    EXPECT_EQ(*words, std::vector<uint32_t>(64, 7));
  }
}

TEST_F(QueueThreads, MemoryIsReleasedBeforeTheSubmissionCompletes) {
  auto memory = std::make_shared<std::vector<uint32_t>>(64, 1);
  const std::weak_ptr<std::vector<uint32_t>> watch = memory;
  const Semaphore go = *Semaphore::create();
  const Result<Submission> submission = [&] {
    const Device device = open();
    const Buffer data = *Buffer::import(device, {.pointer = memory->data(), .size = 256, .owner = memory});
    SubmitInfo info = on(data);
    info.wait = {{go, 1}};
    return device.queue().run(step(1, 1), info);
  }();
  memory.reset();
  ASSERT_TRUE(submission);
  EXPECT_FALSE(watch.expired());
  ASSERT_TRUE(go.signal(1));
  ASSERT_TRUE(submission->wait_for(seconds(60)));
  EXPECT_TRUE(watch.expired());
}

TEST_F(QueueThreads, FailedWaitFailsTheWholeChain) {
  const Device device = open();
  const Buffer data = words(device, 64, 1);
  const Graph graph = instantiate(device, step(2, 0), {.bindings = {{"data", data}}});
  const Semaphore first = *Semaphore::create();
  const Semaphore second = *Semaphore::create();
  const auto a = device.queue(0).submit(graph, {.wait = {{first, 1}}, .signal = {{second, 1}}});
  const auto b = device.queue(1).submit(graph, {.wait = {{second, 1}}});
  const auto independent = device.queue(2).submit(graph);
  ASSERT_TRUE(a && b && independent);
  EXPECT_TRUE(independent->wait_for(seconds(60)));
  Recorder recorder;
  const BufferRef counts = recorder.buffer("counts", 12);
  recorder.dispatch_indirect(kernels()["mark_group"], counts, {.bindings = {recorder.buffer("marks", 4)}});
  const auto failing = device.queue(3).run(
      finish(recorder),
      {.bindings = {{"counts", words(device, 3, 100000)}, {"marks", words(device, 1)}}, .signal = {{first, 1}}});
  ASSERT_TRUE(failing);
  EXPECT_EQ(failing->wait_for(seconds(60)).error().code, Errc::execution_failed);
  EXPECT_EQ(a->wait_for(seconds(60)).error().code, Errc::dependency_failed);
  EXPECT_EQ(b->wait_for(seconds(60)).error().code, Errc::dependency_failed);
  EXPECT_EQ(contents(data), std::vector<uint32_t>(64, 2));
}

TEST_F(QueueThreads, RefusedSubmissionLeavesNothingBehind) {
  const Device device = open();
  const Device other = open();
  const Buffer data = words(device, 64, 1);
  const Graph graph = instantiate(device, step(2, 0), {.bindings = {{"data", data}}});
  const Semaphore at_three = *Semaphore::create(3);
  EXPECT_EQ(other.queue().submit(graph).error().code, Errc::invalid_argument);
  EXPECT_EQ(device.queue().submit(graph, {.signal = {{at_three, 3}}}).error().code, Errc::invalid_argument);
  EXPECT_EQ(device.queue().submit(graph, {.wait = {{Semaphore(), 1}}}).error().code, Errc::invalid_argument);
  EXPECT_EQ(device.queue().submit(Graph()).error().code, Errc::invalid_argument);
  EXPECT_EQ(contents(data)[0], 1U);
  EXPECT_EQ(at_three.value(), 3U);
}

TEST_F(QueueThreads, ThreadsRecordInstantiateAndSubmitAtOnce) {
  const Device device = open();
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([&device, t] {
      for (uint32_t i = 0; i < 20; ++i) {
        const Buffer data = words(device, 64, t);
        const Graph graph = instantiate(device, step(3, i), {.bindings = {{"data", data}}});
        const auto first = device.queue(t % 2).submit(graph);
        const auto second = device.queue(t % 2).submit(graph);
        ASSERT_TRUE(first && second);
        ASSERT_TRUE(second->wait_for(seconds(60)));
        ASSERT_EQ(contents(data), std::vector<uint32_t>(64, (t * 3 + i) * 3 + i));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace pianola
