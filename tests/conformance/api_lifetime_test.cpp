// SPDX-License-Identifier: Apache-2.0
// Everything a submission needs lives until it has completed, whatever the caller drops, in any order.
#include <algorithm>

#include "fixture.hpp"

namespace pianola::conformance {
namespace {

/// All handles of one small program, each of which can be dropped at any time.
struct Program {
  Device own_device;
  KernelLibrary library;
  CommandBuffer inner;
  CommandBuffer commands;
  Graph graph;
  GuardedBuffer source;
  GuardedBuffer direct;
  GuardedBuffer result;

  static constexpr int droppable = 7;
  void drop(int which) {
    switch (which) {
      case 0: library = KernelLibrary(); break;
      case 1: inner = CommandBuffer(); break;
      case 2: commands = CommandBuffer(); break;
      case 3: graph = Graph(); break;
      case 4: source = GuardedBuffer(); break;
      case 5: direct = GuardedBuffer(); break;
      default: own_device = Device(); break;
    }
  }
};

class ApiLifetime : public ApiTest {
 protected:
  static GuardedBuffer memory(const Device& on, const std::vector<uint32_t>& values) {
    auto made = GuardedBuffer::make(on, values.size() * 4, MemoryKind::device);
    EXPECT_TRUE(succeeded(made));
    if (!made) return {};
    EXPECT_TRUE(succeeded(made->reset(to_bytes(values))));
    return *made;
  }

  /// result = source * 10 + direct + 1, with a library of its own.
  static Program make_program(const Device& on) {
    Program program{.own_device = on};
    auto library = KernelLibrary::load(run_options().kernels);
    EXPECT_TRUE(succeeded(library));
    program.library = *library;
    program.source = memory(on, counting(64));
    program.direct = memory(on, counting(64, 500));
    program.result = memory(on, repeated(0, 64));
    Recorder inner;
    const BufferRef sum = inner.buffer("sum", 256);
    inner.dispatch(program.library["add_constant"], {.constants = {1U, 64U}, .bindings = {sum}});
    program.inner = must_finish(inner);
    Recorder rec;
    const BufferRef source = rec.buffer("source", 256);
    const BufferRef result = rec.buffer("result", 256);
    const BufferRef direct = rec.buffer(program.direct.view());
    rec.dispatch(program.library["combine"], {.constants = {10U, 64U}, .bindings = {source, direct, result}}).barrier();
    rec.execute(program.inner, {.bindings = {{sum.slot, result}}});
    program.commands = must_finish(rec);
    auto graph = on.instantiate(program.commands, {.bindings = {{source, program.source.view()}}});
    EXPECT_TRUE(succeeded(graph));
    program.graph = *graph;
    return program;
  }

  static void expect_result(const GuardedBuffer& result) {
    EXPECT_TRUE(result.holds(to_bytes(counting(64, 501, 11)), "result"));
  }
};

// L2
TEST_F(ApiLifetime, AGraphReplaysAfterEverythingElseIsDropped) {
  Program program = make_program(device());
  const GuardedBuffer result = program.result;
  for (const int which : {0, 1, 2, 4, 5, 6}) program.drop(which);
  for (int replay = 0; replay < 100; ++replay) {
    const auto submission = device().queue().submit(program.graph, {.bindings = {{"result", result.view()}}});
    ASSERT_TRUE(succeeded(submission));
    ASSERT_TRUE(succeeded(submission->wait()));
  }
  expect_result(result);
}

// L2: every order of destruction
TEST_F(ApiLifetime, HandlesMayBeDroppedInEveryOrder) {
  std::vector<int> order = {0, 2, 3, 4, 6};
  do {
    auto own = open_device();
    ASSERT_TRUE(succeeded(own));
    Program program = make_program(*own);
    Queue queue = own->queue();
    *own = Device();
    const auto submission = queue.submit(program.graph, {.bindings = {{"result", program.result.view()}}});
    ASSERT_TRUE(succeeded(submission));
    if (order.front() != 6) {
      ASSERT_TRUE(succeeded(submission->wait()));
    }
    for (const int which : order) program.drop(which);
    EXPECT_TRUE(succeeded(submission->wait()));
    queue = Queue();
    expect_result(program.result);
  } while (std::next_permutation(order.begin(), order.end()));
}

// L3
TEST_F(ApiLifetime, WorkInFlightKeepsWhatItNeeds) {
  for (int first = 0; first < Program::droppable; ++first) {
    const auto gate = Semaphore::create();
    ASSERT_TRUE(succeeded(gate));
    Program program = make_program(device());
    const GuardedBuffer result = program.result;
    std::vector<Submission> submissions;
    for (int i = 0; i < 3; ++i) {
      const SubmitInfo info{.bindings = {{"result", result.view()}}, .wait = {{*gate, 1}}};
      auto submission = device().queue().submit(program.graph, info);
      ASSERT_TRUE(succeeded(submission));
      submissions.push_back(*submission);
    }
    for (int i = 0; i < Program::droppable; ++i) program.drop((first + i) % Program::droppable);
    program.result = GuardedBuffer();
    EXPECT_FALSE(submissions[0].is_done());
    EXPECT_TRUE(succeeded(gate->signal(1)));
    for (const Submission& submission : submissions) EXPECT_TRUE(succeeded(submission.wait()));
    expect_result(result);
  }
}

// L3: one-shot work whose recording, memory and submission handle are all gone
TEST_F(ApiLifetime, OneShotWorkCompletesWithoutAnyHandle) {
  const auto gate = Semaphore::create();
  const auto done = Semaphore::create();
  ASSERT_TRUE(succeeded(gate) && succeeded(done));
  const GuardedBuffer result = memory(device(), repeated(0, 64));
  {
    Program program = make_program(device());
    const SubmitInfo info{.bindings = {{"source", program.source.view()}, {"result", result.view()}},
                          .wait = {{*gate, 1}},
                          .signal = {{*done, 1}}};
    ASSERT_TRUE(succeeded(device().queue().run(program.commands, info)));
  }
  EXPECT_TRUE(succeeded(gate->signal(1)));
  EXPECT_TRUE(succeeded(done->wait(1)));
  expect_result(result);
}

// The memory of finished work is given back at once, not when the next work comes.
TEST_F(ApiLifetime, FinishedWorkHoldsNoMemory) {
  const uint64_t before = GuardedBuffer::live_imports();
  {
    Program program = make_program(device());
    const auto submission = device().queue().submit(program.graph, {.bindings = {{"result", program.result.view()}}});
    ASSERT_TRUE(succeeded(submission));
    ASSERT_TRUE(succeeded(submission->wait()));
  }
  EXPECT_EQ(GuardedBuffer::live_imports(), before);
}

TEST_F(ApiLifetime, ADeviceIsClosedWhileItsWorkIsHeldBack) {
  const auto gate = Semaphore::create();
  ASSERT_TRUE(succeeded(gate));
  GuardedBuffer result;
  Submission submission;
  {
    auto own = open_device();
    ASSERT_TRUE(succeeded(own));
    Program program = make_program(*own);
    result = program.result;
    const SubmitInfo info{.bindings = {{"result", result.view()}}, .wait = {{*gate, 1}}};
    auto submitted = own->queue().submit(program.graph, info);
    ASSERT_TRUE(succeeded(submitted));
    submission = *submitted;
  }
  EXPECT_TRUE(succeeded(gate->signal(1)));
  EXPECT_TRUE(succeeded(submission.wait()));
  expect_result(result);
}

}  // namespace
}  // namespace pianola::conformance
