// SPDX-License-Identifier: Apache-2.0
// The price of a replay on the CPU: submit and wait, all of it; and of work that is run without a graph.
#include <benchmark/benchmark.h>

#include <cstdint>

#include "bench_kernels.hpp"
#include "ns_per_command.hpp"
#include "pianola/device.hpp"
#include "pianola/recorder.hpp"

namespace {

constexpr int pairs = 1000;

// A 64-byte fill and a barrier, again and again on one range; neighbouring fills stay what they are.
pianola::Result<pianola::CommandBuffer> record_fills(const pianola::Buffer& buffer) {
  pianola::Recorder recorder;
  const pianola::BufferRef range = recorder.buffer(buffer);
  for (uint32_t i = 0; i < pairs; ++i) recorder.fill(range, i % 2 == 0 ? 0x01020304U : 0x05060708U).barrier();
  return recorder.finish();
}

pianola::Result<pianola::Graph> make_graph(const pianola::Device& device, bool empty) {
  auto buffer = device.allocate(64);
  if (!buffer) return buffer.error();
  auto commands = empty ? pianola::Recorder().finish() : record_fills(*buffer);
  if (!commands) return commands.error();
  pianola::InstantiateOptions options;
  options.plan.merge = false;
  return device.instantiate(*commands, options);
}

void replay(benchmark::State& state, std::string_view spec, bool empty) {
  const auto device = pianola::Device::open(spec);
  const auto graph = device ? make_graph(*device, empty) : pianola::Result<pianola::Graph>(device.error());
  if (!graph) {
    state.SkipWithError(pianola::to_string(graph.error()).c_str());
    return;
  }
  const bench::NsPerCommand counter(state, empty ? 1.0 : 2.0 * pairs);
  const pianola::Queue queue = device->queue();
  for (auto _ : state) {
    const auto submission = queue.submit(*graph);
    if (!submission || !submission->wait()) {
      state.SkipWithError("replay failed");
      return;
    }
  }
}
BENCHMARK_CAPTURE(replay, fill_barrier, "cpu", false)->Name("replay/cpu/fill_barrier");
BENCHMARK_CAPTURE(replay, empty, "cpu", true)->Name("replay/cpu/empty");
BENCHMARK_CAPTURE(replay, null_empty, "null", true)->Name("replay/null/empty");

// Planned, instantiated, run and taken down each time; nothing else keeps the kernel.
void one_shot(benchmark::State& state) {
  const auto device = pianola::Device::open("cpu");
  const auto kernels = pianola::KernelLibrary::from_bytes(bench_kernels());
  const auto buffer = device ? device->allocate(2048) : pianola::Result<pianola::Buffer>(device.error());
  if (!kernels || !buffer) return state.SkipWithError("no device, kernels or memory");
  pianola::Recorder recorder;
  const pianola::BufferRef memory = recorder.buffer(*buffer);
  recorder.dispatch((*kernels)["copy_words"],
                    {.groups = {1}, .constants = {256U}, .bindings = {memory.view(0, 1024), memory.view(1024)}});
  const auto commands = recorder.finish();
  if (!commands) return state.SkipWithError(pianola::to_string(commands.error()).c_str());
  const pianola::Queue queue = device->queue();
  for (auto _ : state) {
    const auto submission = queue.run(*commands);
    if (!submission || !submission->wait()) return state.SkipWithError("run failed");
  }
}
BENCHMARK(one_shot)->Name("replay/cpu/one_shot")->Unit(benchmark::kMicrosecond);

}  // namespace
