// SPDX-License-Identifier: Apache-2.0
// Graphs on a CUDA device: Pianola beside the driver called by hand, with the same nodes and edges. The two take turns
// in one loop; the counters are the medians of both, in microseconds, and their ratio. Without a CUDA device there are
// no rows.
#include <benchmark/benchmark.h>

#include "graph_shapes.hpp"
#include "take_turns.hpp"

namespace {

using bench::HandDriver;
using bench::HandNode;
using bench::Machine;
using bench::Shape;
using bench::take_turns;
using namespace pianola;  // NOLINT: this file is about nothing else

bool nothing() {
  return true;
}

/// Pianola's graph of a shape, or a reason to leave the row out.
Graph graph_of(benchmark::State& state, const Shape& shape, bool native_graph) {
  const Result<CommandBuffer> commands = shape.commands();
  const Result<Graph> graph = commands ? Machine::get()->device.instantiate(*commands, shape.options(native_graph))
                                       : Result<Graph>(commands.error());
  if (graph) return *graph;
  state.SkipWithError(to_string(graph.error()).c_str());
  return {};
}

std::unique_ptr<HandDriver::Graph> hand_graph_of(benchmark::State& state, const Shape& shape) {
  auto graph = Machine::get()->hand->build(shape.hand);
  if (graph == nullptr) state.SkipWithError("the hand-built graph failed");
  return graph;
}

bool run(const Queue& queue, const Graph& graph) {
  const Result<Submission> submission = queue.submit(graph);
  return submission && submission->wait();
}

void replay(benchmark::State& state, const Shape& shape, bool native_graph) {
  const Graph graph = graph_of(state, shape, native_graph);
  const auto hand = hand_graph_of(state, shape);
  if (!graph || hand == nullptr) return;
  HandDriver& driver = *Machine::get()->hand;
  const Queue queue = Machine::get()->device.queue();
  take_turns(state, [&] { return run(queue, graph); }, [&] { return driver.launch(*hand) && driver.wait(); }, nothing);
  const auto commands = static_cast<double>(shape.hand.size());
  state.counters["us_per_command"] = state.counters["us"] / commands;
  state.counters["edges"] = graph.plan().stats().edges;
}

void build(benchmark::State& state, const Shape& shape) {
  const Result<CommandBuffer> commands = shape.commands();
  if (!commands) return state.SkipWithError(to_string(commands.error()).c_str());
  Graph graph;
  std::unique_ptr<HandDriver::Graph> hand;
  const auto ours = [&] {
    Result<Graph> made = Machine::get()->device.instantiate(*commands, shape.options(true));
    if (made) graph = *made;
    return made.has_value();
  };
  const auto by_hand = [&] {
    hand = Machine::get()->hand->build(shape.hand);
    return hand != nullptr;
  };
  // Taking them down is left out.
  take_turns(state, ours, by_hand, [&] {
    graph = {};
    hand.reset();
    return true;
  });
}

/// From nothing to done, once: recorded or built, run, waited for and taken down.
void one_shot(benchmark::State& state, uint32_t count, bool hand_as_graph) {
  const Shape shape = bench::chain(count, HandNode::Kind::small, 1024);
  HandDriver& driver = *Machine::get()->hand;
  const Queue queue = Machine::get()->device.queue();
  const auto ours = [&] {
    const Result<CommandBuffer> commands = shape.commands();
    if (!commands) return false;
    const Result<Submission> submission = queue.run(*commands);
    return submission && submission->wait();
  };
  const auto by_hand = [&] {
    if (!hand_as_graph) return driver.stream_and_wait(shape.hand);
    const auto graph = driver.build(shape.hand);
    return graph != nullptr && driver.launch(*graph) && driver.wait();
  };
  take_turns(state, ours, by_hand, nothing);
}

/// Replays on two queues in turn, each after the one before by a semaphore; by hand, two streams and events.
void hand_over(benchmark::State& state, uint32_t count) {
  const Shape shape = bench::chain(10, HandNode::Kind::small, 1024);
  const Graph graph = graph_of(state, shape, true);
  const auto hand = hand_graph_of(state, shape);
  if (!graph || hand == nullptr) return;
  const Machine& machine = *Machine::get();
  const auto ours = [&] {
    const Semaphore turn = *Semaphore::create();
    Submission last;
    for (uint32_t i = 0; i < count; ++i) {
      const auto done = machine.device.queue(i % 2).submit(graph, {.wait = {{turn, i}}, .signal = {{turn, i + 1}}});
      if (!done) return false;
      last = *done;
    }
    return last.wait().has_value();
  };
  take_turns(state, ours, [&] { return machine.hand->hand_over(*hand, count); }, nothing);
}

/// A submission with another buffer for a slot that `changed` of 1,000 dispatches use; by hand, an update of as many
/// nodes and a launch.
void rebind(benchmark::State& state, uint32_t changed) {
  const Machine& machine = *Machine::get();
  Recorder recorder;
  const BufferRef fixed = recorder.buffer("fixed", 1024);
  const BufferRef moved = recorder.buffer("moved", 1024);
  for (uint32_t i = 0; i < 1000; ++i) {
    recorder.dispatch(machine.kernels["small"], {.constants = {1U}, .bindings = {i < changed ? moved : fixed}});
    recorder.barrier();
  }
  const Result<CommandBuffer> commands = recorder.finish();
  InstantiateOptions options;
  options.bindings = {{"fixed", machine.memory.view(0, 1024)}};
  options.plan.lanes = 1;
  const Result<Graph> graph =
      commands ? machine.device.instantiate(*commands, options) : Result<Graph>(commands.error());
  if (!graph) return state.SkipWithError(to_string(graph.error()).c_str());
  Shape shape = bench::chain(1000, HandNode::Kind::small, 1024);
  const auto hand = hand_graph_of(state, shape);
  if (hand == nullptr) return;
  const Queue queue = machine.device.queue();
  uint64_t next = 0;
  const auto ours = [&] {
    // More sets than a graph keeps, so that each one is new.
    next = next % 64 + 1;
    return queue.submit(*graph, {.bindings = {{"moved", machine.memory.view(next * 4096, 1024)}}}).has_value();
  };
  const auto by_hand = [&] {
    for (uint32_t i = 0; i < changed; ++i) shape.hand[i].offset = next * 4096;
    return machine.hand->update(*hand, shape.hand, changed) && machine.hand->launch(*hand);
  };
  take_turns(state, ours, by_hand, [&] { return queue.wait_idle() && machine.hand->wait(); });
}

template <class Function>
void add(const std::string& name, Function&& function) {
  benchmark::RegisterBenchmark(("graph/" + name).c_str(), function)->UseManualTime()->Unit(benchmark::kMicrosecond);
}

void add_shape(const Shape& shape) {
  add(shape.name, [shape](benchmark::State& state) { replay(state, shape, true); });
  add(shape.name + "/streams", [shape](benchmark::State& state) { replay(state, shape, false); });
  add(shape.name + "/instantiate", [shape](benchmark::State& state) { build(state, shape); });
}

void add_shapes() {
  for (const uint32_t lanes : {1U, 2U, 4U, 8U, 16U, 32U}) add_shape(bench::independent(1024, lanes));
  for (const uint32_t lanes : {4U, 8U, 16U, 32U}) add_shape(bench::groups(1024, 32, lanes, 0));
  for (const uint32_t lanes : {1U, 4U, 16U}) add_shape(bench::groups(1024, 16, lanes, 2000));
  for (const uint32_t count : {10U, 100U, 1000U, 10000U}) {
    add_shape(bench::chain(count, HandNode::Kind::small, 1024));
  }
  for (const uint64_t size : {64U, 4096U, 65536U, 1048576U, 4194304U}) {
    add_shape(bench::chain(256, HandNode::Kind::fill, size));
    add_shape(bench::chain(256, HandNode::Kind::copy, size));
  }
  for (const uint64_t size : {64U, 2048U, 65536U}) add_shape(bench::chain(256, HandNode::Kind::upload, size));
  add_shape(bench::alternating(1024));
  add_shape(bench::decode());
}

const bool registered = [] {
  if (Machine::get() == nullptr) return false;
  add_shapes();
  for (const uint32_t count : {10U, 100U, 1000U}) {
    const std::string name = "one_shot/" + std::to_string(count);
    add(name, [count](benchmark::State& state) { one_shot(state, count, true); });
    add(name + "/hand_streams", [count](benchmark::State& state) { one_shot(state, count, false); });
  }
  add("hand_over/100", [](benchmark::State& state) { hand_over(state, 100); });
  for (const uint32_t changed : {1U, 10U, 100U, 1000U}) {
    add("rebind/1000/changed:" + std::to_string(changed),
        [changed](benchmark::State& state) { rebind(state, changed); });
  }
  return true;
}();

}  // namespace
