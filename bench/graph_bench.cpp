// SPDX-License-Identifier: Apache-2.0
// The shapes of graphs on a CUDA device: Pianola's replay beside a hand-built graph with the same nodes and edges.
// Rows come in pairs, graph/<shape>/pianola and graph/<shape>/hand; without a CUDA device there are none.
#include <benchmark/benchmark.h>

#include <functional>
#include <memory>
#include <string>

#include "graph_kernels.hpp"
#include "hand_graph.hpp"
#include "pianola/pianola.hpp"

namespace {

using bench::HandDriver;
using bench::HandNode;
using namespace pianola;  // NOLINT: this file is about nothing else

constexpr uint64_t memory_size = uint64_t{256} << 20;

/// A shape, both ways.
struct Shape {
  std::string name;
  uint32_t commands = 0;
  uint32_t lanes = 16;
  std::function<void(Recorder&, const BufferRef&, const Kernel&)> record;
  std::vector<HandNode> hand;
};

struct Machine {
  Device device;
  Buffer memory;
  KernelLibrary kernels;
  HandDriver* hand = nullptr;
};

const Machine* machine() {
  static const std::unique_ptr<Machine> made = []() -> std::unique_ptr<Machine> {
    Result<Device> device = Device::open("cuda:0");
    if (!device) return nullptr;
    auto result = std::make_unique<Machine>();
    result->device = *device;
    Result<Buffer> memory = device->allocate(memory_size);
    Result<KernelLibrary> kernels = KernelLibrary::from_bytes(graph_kernels());
    if (!memory || !kernels) return nullptr;
    result->memory = *memory;
    result->kernels = *kernels;
    for (const CodeObject& object : kernels->objects()) {
      if (object.format == ObjectFormat::ptx && object.arch == "sm_70") {
        result->hand = HandDriver::get(object.bytes, memory_size);
      }
    }
    return result;
  }();
  return made.get();
}

Result<Graph> instantiate(const Shape& shape, bool native_graph = true) {
  Recorder recorder;
  const BufferRef memory = recorder.buffer(machine()->memory);
  shape.record(recorder, memory, machine()->kernels["small"]);
  Result<CommandBuffer> commands = recorder.finish();
  if (!commands) return commands.error();
  InstantiateOptions options;
  options.plan.lanes = shape.lanes;
  options.plan.merge = false;
  options.native_graph = native_graph;
  return machine()->device.instantiate(*commands, options);
}

void run_pianola(benchmark::State& state, const Shape& shape, bool native_graph) {
  const Result<Graph> graph = instantiate(shape, native_graph);
  if (!graph) {
    state.SkipWithError(to_string(graph.error()).c_str());
    return;
  }
  const Queue queue = machine()->device.queue();
  for (auto _ : state) {
    const Result<Submission> submission = queue.submit(*graph);
    if (!submission || !submission->wait()) {
      state.SkipWithError("replay failed");
      return;
    }
  }
  state.counters["edges"] = graph->plan().stats().edges;
  state.counters["us_per_command"] = benchmark::Counter(
      shape.commands * 1e-6, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void run_hand(benchmark::State& state, const Shape& shape) {
  const HandDriver::Graph graph = machine()->hand->build(shape.hand);
  if (graph == nullptr) {
    state.SkipWithError("the hand-built graph failed");
    return;
  }
  for (auto _ : state) {
    if (!machine()->hand->launch_and_wait(graph)) state.SkipWithError("replay failed");
  }
  machine()->hand->destroy(graph);
  state.counters["us_per_command"] = benchmark::Counter(
      shape.commands * 1e-6, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void run_instantiate(benchmark::State& state, const Shape& shape) {
  for (auto _ : state) {
    const Result<Graph> graph = instantiate(shape);
    if (!graph) state.SkipWithError(to_string(graph.error()).c_str());
  }
}

void run_build(benchmark::State& state, const Shape& shape) {
  for (auto _ : state) {
    const HandDriver::Graph graph = machine()->hand->build(shape.hand);
    if (graph == nullptr) {
      state.SkipWithError("the hand-built graph failed");
      return;
    }
    machine()->hand->destroy(graph);
  }
}

/// Independent kernels, dealt to lanes.
Shape independent(uint32_t count, uint32_t lanes) {
  Shape shape{"independent/lanes:" + std::to_string(lanes), count, lanes, {}, {}};
  shape.record = [count](Recorder& recorder, const BufferRef& memory, const Kernel& kernel) {
    for (uint32_t i = 0; i < count; ++i) {
      recorder.dispatch(kernel, {.constants = {1U}, .bindings = {memory.view(uint64_t{i} * 1024, 1024)}});
    }
  };
  for (uint32_t i = 0; i < count; ++i) {
    HandNode node{.offset = uint64_t{i} * 1024};
    if (i >= lanes) node.after = {i - lanes};
    shape.hand.push_back(node);
  }
  return shape;
}

/// Groups of independent kernels with a barrier after each; every tail before every head.
Shape groups(uint32_t count, uint32_t width, uint32_t lanes) {
  Shape shape{"groups:" + std::to_string(width) + "/lanes:" + std::to_string(lanes), count, lanes, {}, {}};
  shape.record = [count, width](Recorder& recorder, const BufferRef& memory, const Kernel& kernel) {
    for (uint32_t i = 0; i < count; ++i) {
      if (i != 0 && i % width == 0) recorder.barrier();
      // Each group writes the whole of what the one before wrote, so that the barrier has work to do.
      const uint64_t offset = uint64_t{i % width} * 1024;
      recorder.dispatch(kernel, {.constants = {1U},
                                 .bindings = {memory.view(offset, 1024)},
                                 .uses = {{memory.view(0, uint64_t{width} * 1024), Access::in}}});
    }
  };
  for (uint32_t i = 0; i < count; ++i) {
    HandNode node{.offset = uint64_t{i % width} * 1024};
    const uint32_t start = i / width * width;
    if (i - start >= lanes) {
      node.after = {i - lanes};
    } else if (start != 0) {
      for (uint32_t tail = start - lanes; tail < start; ++tail) node.after.push_back(tail);
    }
    shape.hand.push_back(node);
  }
  return shape;
}

Shape chain(uint32_t count, HandNode::Kind kind, uint64_t size) {
  const char* kinds[] = {"kernel", "fill", "copy"};
  Shape shape{std::string("chain/") + kinds[static_cast<int>(kind)] + "/" + std::to_string(count) +
                  (kind == HandNode::Kind::kernel ? "" : "/bytes:" + std::to_string(size)),
              count,
              1,
              {},
              {}};
  shape.record = [count, kind, size](Recorder& recorder, const BufferRef& memory, const Kernel& kernel) {
    const BufferRef to = memory.view(0, size);
    for (uint32_t i = 0; i < count; ++i) {
      if (kind == HandNode::Kind::kernel) recorder.dispatch(kernel, {.constants = {1U}, .bindings = {to}});
      if (kind == HandNode::Kind::fill) recorder.fill(to, i);
      if (kind == HandNode::Kind::copy) recorder.copy(to, memory.view(memory_size / 2, size));
      recorder.barrier();
    }
  };
  for (uint32_t i = 0; i < count; ++i) {
    HandNode node{.kind = kind, .source_offset = memory_size / 2, .size = size};
    if (i != 0) node.after = {i - 1};
    shape.hand.push_back(node);
  }
  return shape;
}

void add(const Shape& shape) {
  const std::string name = "graph/" + shape.name;
  const auto both = [&](const std::string& row, auto&& function) {
    benchmark::RegisterBenchmark((name + row).c_str(), function)->UseRealTime()->Unit(benchmark::kMicrosecond);
  };
  both("/pianola", [shape](benchmark::State& state) { run_pianola(state, shape, true); });
  both("/hand", [shape](benchmark::State& state) { run_hand(state, shape); });
  both("/streams", [shape](benchmark::State& state) { run_pianola(state, shape, false); });
  both("/instantiate/pianola", [shape](benchmark::State& state) { run_instantiate(state, shape); });
  both("/instantiate/hand", [shape](benchmark::State& state) { run_build(state, shape); });
}

/// Rebinding: some of 1,000 dispatches are on the slot that changes.
void rebind(benchmark::State& state, uint32_t changed) {
  Recorder recorder;
  const BufferRef fixed = recorder.buffer("fixed", 1024);
  const BufferRef moved = recorder.buffer("moved", 1024);
  for (uint32_t i = 0; i < 1000; ++i) {
    recorder.dispatch(machine()->kernels["small"], {.constants = {1U}, .bindings = {i < changed ? moved : fixed}});
    recorder.barrier();
  }
  const Result<CommandBuffer> commands = recorder.finish();
  const BufferView memory = machine()->memory;
  const Result<Graph> graph =
      commands ? machine()->device.instantiate(*commands, {.bindings = {{"fixed", memory.buffer().view(0, 1024)}}})
               : Result<Graph>(commands.error());
  if (!graph) {
    state.SkipWithError(to_string(graph.error()).c_str());
    return;
  }
  uint64_t next = 0;
  const Queue queue = machine()->device.queue();
  for (auto _ : state) {
    // More sets than a graph keeps, so that each one is new.
    next = next % 64 + 1;
    const Result<Submission> done =
        queue.submit(*graph, {.bindings = {{"moved", memory.buffer().view(next * 4096, 1024)}}});
    if (!done) {
      state.SkipWithError(to_string(done.error()).c_str());
      return;
    }
    state.PauseTiming();
    if (!done->wait()) state.SkipWithError("replay failed");
    state.ResumeTiming();
  }
}

const bool registered = [] {
  if (machine() == nullptr || machine()->hand == nullptr) return false;
  for (const uint32_t lanes : {1U, 2U, 4U, 8U, 16U, 32U}) add(independent(1024, lanes));
  for (const uint32_t lanes : {4U, 8U, 16U, 32U}) add(groups(1000, 32, lanes));
  for (const uint32_t count : {10U, 100U, 1000U, 10000U}) add(chain(count, HandNode::Kind::kernel, 1024));
  for (const uint64_t size : {64U, 4096U, 65536U, 1048576U, 4194304U}) {
    add(chain(256, HandNode::Kind::fill, size));
    add(chain(256, HandNode::Kind::copy, size));
  }
  for (const uint32_t changed : {10U, 100U, 1000U}) {
    benchmark::RegisterBenchmark(("graph/rebind/1000/changed:" + std::to_string(changed)).c_str(),
                                 [changed](benchmark::State& state) { rebind(state, changed); })
        ->UseRealTime()
        ->Unit(benchmark::kMicrosecond);
  }
  return true;
}();

}  // namespace
