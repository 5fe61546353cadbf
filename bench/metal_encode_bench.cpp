// SPDX-License-Identifier: Apache-2.0
// Encoding on Metal: submit, without the wait for the work, by turns with the same list encoded by hand. Over the
// software Metal, which accepts everything here and runs nothing, that is the whole price of a replay.
#include <benchmark/benchmark.h>

#include <string>

#include "encode_kernels.hpp"
#include "hand_metal.hpp"
#include "memory_bench.hpp"
#include "pianola/pianola.hpp"
#include "take_turns.hpp"

namespace {

using bench::HandMetal;
using bench::metal_buffer_size;
using bench::metal_commands;
using bench::MetalList;
using namespace pianola;  // NOLINT: this file is about nothing else

constexpr uint64_t piece = 1024;

struct Machine {
  Device device;
  std::vector<Buffer> buffers;
  KernelLibrary kernels;
  std::unique_ptr<HandMetal> hand;
};

Result<Machine> open_machine() {
  bench::accept_everything();
  auto device = Device::open("metal");
  if (!device) return device.error();
  auto kernels = KernelLibrary::from_bytes(encode_kernels());
  if (!kernels) return kernels.error();
  Machine made{*device, {}, *kernels, nullptr};
  for (size_t i = 0; i < bench::metal_buffers; ++i) {
    auto buffer = device->allocate(metal_buffer_size);
    if (!buffer) return buffer.error();
    made.buffers.push_back(*buffer);
  }
  for (const CodeObject& object : kernels->objects()) {
    if (object.format != ObjectFormat::msl) continue;
    const std::string_view source(reinterpret_cast<const char*>(object.bytes.data()), object.bytes.size());
    made.hand = HandMetal::make(*device, source, made.buffers);
  }
  if (made.hand == nullptr) return Error{.code = Errc::missing_kernel, .message = "no pipelines by hand"};
  return made;
}

void record_dispatches(Recorder& recorder, const Kernel& scale, const std::vector<BufferRef>& buffers) {
  for (uint32_t i = 0; i < metal_commands; ++i) {
    if (i % 32 == 0) recorder.barrier();
    recorder.dispatch(scale, {.groups = {4}, .constants = {i}, .bindings = {buffers[0].view(i % 32 * piece, piece)}});
  }
}

void record_pipelines(Recorder& recorder, const KernelLibrary& kernels, const std::vector<BufferRef>& buffers) {
  for (uint32_t wave = 0; wave < metal_commands / 8; ++wave) {
    const uint32_t from = wave / 2 % 2 * 8, to = 8 - from;
    for (uint32_t k = 0; k < 8; ++k) {
      if (wave % 2 == 0) {
        recorder.dispatch(kernels["combine"],
                          {.groups = {1},
                           .constants = {k, 64U},
                           .bindings = {buffers[from + k], buffers[from + (k + 1) % 8], buffers[to + k]}});
      } else {
        recorder.dispatch(kernels["scale"], {.groups = {1}, .constants = {k}, .bindings = {buffers[to + k]}});
      }
    }
    recorder.barrier();
  }
}

void record_transfers(Recorder& recorder, const std::vector<BufferRef>& buffers) {
  for (uint32_t i = 0; i < metal_commands / 2; ++i) {
    const uint64_t at = i % 32 * piece;
    recorder.fill(buffers[0].view(at, piece), static_cast<uint8_t>(i));
    recorder.copy(buffers[2].view(at, piece), buffers[1].view(at, piece)).barrier();
  }
}

void record_switches(Recorder& recorder, const Kernel& scale, const std::vector<BufferRef>& buffers) {
  constexpr uint64_t half = metal_buffer_size / 2;
  for (uint32_t round = 0; round < metal_commands / 64; ++round) {
    for (uint32_t i = 0; i < 32; ++i) {
      recorder.dispatch(scale, {.groups = {1}, .constants = {i}, .bindings = {buffers[i].view(0, half)}});
    }
    recorder.barrier();
    for (uint32_t i = 0; i < 32; ++i) recorder.copy(buffers[(i + 1) % 32].view(half, half), buffers[i].view(0, half));
    recorder.barrier();
  }
}

void record_arguments(Recorder& recorder, const Kernel& sum, const std::vector<BufferRef>& buffers) {
  for (uint32_t i = 0; i < metal_commands; ++i) {
    if (i % 8 == 0) recorder.barrier();
    Dispatch dispatch{.groups = {1}, .constants = {64U}, .bindings = {buffers.begin(), buffers.begin() + 32}};
    dispatch.bindings.push_back(buffers[32 + i % 8]);
    recorder.dispatch(sum, dispatch);
  }
}

Result<Graph> make_graph(const Machine& machine, MetalList list) {
  Recorder recorder;
  std::vector<BufferRef> buffers;
  for (const Buffer& buffer : machine.buffers) buffers.push_back(recorder.buffer(buffer));
  switch (list) {
    case MetalList::dispatches: record_dispatches(recorder, machine.kernels["scale"], buffers); break;
    case MetalList::pipelines: record_pipelines(recorder, machine.kernels, buffers); break;
    case MetalList::transfers: record_transfers(recorder, buffers); break;
    case MetalList::switches: record_switches(recorder, machine.kernels["scale"], buffers); break;
    case MetalList::arguments: record_arguments(recorder, machine.kernels["sum_32"], buffers); break;
  }
  const auto commands = recorder.finish();
  if (!commands) return commands.error();
  InstantiateOptions options;
  options.plan.merge = false;
  auto graph = machine.device.instantiate(*commands, options);
  if (!graph) return graph.error();
  const std::string text = graph->native_description();
  if (text.find(HandMetal::totals(list)) == std::string::npos) {
    return Error{.code = Errc::invalid_state,
                 .message = "not the list that is encoded by hand: " + text.substr(0, 2000)};
  }
  return graph;
}

void encode(benchmark::State& state, MetalList list) {
  const auto machine = open_machine();
  const auto graph = machine ? make_graph(*machine, list) : Result<Graph>(machine.error());
  if (!graph) return state.SkipWithError(to_string(graph.error()).c_str());
  const Queue queue = machine->device.queue();
  Submission last;
  bench::take_turns(
      state,
      [&] {
        const auto submission = queue.submit(*graph);
        if (submission) last = *submission;
        return submission.has_value();
      },
      [&] { return machine->hand->submit(list); }, [&] { return last.wait().has_value() && machine->hand->wait(); });
  state.counters["ns_per_command"] = state.counters["us"] * 1000 / metal_commands;
  state.counters["hand_ns_per_command"] = state.counters["hand_us"] * 1000 / metal_commands;
}
BENCHMARK_CAPTURE(encode, dispatches, MetalList::dispatches)->Name("encode/metal/dispatches")->UseManualTime();
BENCHMARK_CAPTURE(encode, pipelines, MetalList::pipelines)->Name("encode/metal/pipelines")->UseManualTime();
BENCHMARK_CAPTURE(encode, transfers, MetalList::transfers)->Name("encode/metal/transfers")->UseManualTime();
BENCHMARK_CAPTURE(encode, switches, MetalList::switches)->Name("encode/metal/switches")->UseManualTime();
BENCHMARK_CAPTURE(encode, arguments, MetalList::arguments)->Name("encode/metal/arguments")->UseManualTime();

void memory(benchmark::State& state) {
  const auto device = Device::open("metal");
  if (!device) return state.SkipWithError(to_string(device.error()).c_str());
  bench::measure_memory(state, *device);
}
BENCHMARK(memory)->Name("record/memory/metal");

}  // namespace
