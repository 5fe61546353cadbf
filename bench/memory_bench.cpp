// SPDX-License-Identifier: Apache-2.0
// Host memory and preparation, a command: recorded, planned, and made ready for replay without a driver's graph, whose
// memory is the driver's. The counters are bytes a command that each stage keeps.
#include "memory_bench.hpp"

#ifdef __APPLE__
#include <malloc/malloc.h>
#else
#include <malloc.h>
#endif

#include <string>

#include "graph_kernels.hpp"
#include "ns_per_command.hpp"
#include "pianola/pianola.hpp"

namespace {

using namespace pianola;  // NOLINT: this file is about nothing else

constexpr uint32_t dispatches = 10'000;

Result<CommandBuffer> record(const KernelLibrary& kernels) {
  Recorder recorder;
  const BufferRef memory = recorder.buffer("memory", 1024 * 1024);
  for (uint32_t i = 0; i < dispatches; ++i) {
    if (i % 32 == 0) recorder.barrier();
    recorder.dispatch(kernels["small"],
                      {.constants = {1U}, .bindings = {memory.view(uint64_t{i % 1024} * 1024, 1024)}});
  }
  return recorder.finish();
}

double allocated() {
#ifdef __APPLE__
  malloc_statistics_t info;
  malloc_zone_statistics(nullptr, &info);
  return static_cast<double>(info.size_in_use);
#else
  const struct mallinfo2 info = mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd);
#endif
}

void record_and_plan(benchmark::State& state) {
  const Result<KernelLibrary> kernels = KernelLibrary::from_bytes(graph_kernels());
  if (!kernels) return state.SkipWithError(to_string(kernels.error()).c_str());
  const bench::NsPerCommand counter(state, dispatches);
  for (auto _ : state) {
    const Result<CommandBuffer> commands = record(*kernels);
    const Result<Plan> plan = commands ? make_plan(*commands, {.lanes = 16}) : Result<Plan>(commands.error());
    if (!plan) return state.SkipWithError(to_string(plan.error()).c_str());
    benchmark::DoNotOptimize(plan->data());
  }
}
BENCHMARK(record_and_plan)->Name("record/and_plan/dispatches")->Unit(benchmark::kMillisecond);

const bool registered = [] {
  for (const char* spec : {"cpu", "cuda:0"}) {
    const Result<Device> device = Device::open(spec);
    if (!device) continue;
    benchmark::RegisterBenchmark((std::string("record/memory/") + spec).c_str(),
                                 [device = *device](benchmark::State& state) { bench::measure_memory(state, device); });
  }
  return true;
}();

}  // namespace

void bench::measure_memory(benchmark::State& state, const Device& device) {
  const Result<KernelLibrary> kernels = KernelLibrary::from_bytes(graph_kernels());
  if (!kernels) return state.SkipWithError(to_string(kernels.error()).c_str());
  // Whatever a device keeps from its first graph on is no command's.
  InstantiateOptions options;
  options.native_graph = false;
  (void)device.instantiate(*record(*kernels), options);
  for (auto _ : state) {
    const double before = allocated();
    const Result<CommandBuffer> commands = record(*kernels);
    const double recorded = allocated();
    const Result<Graph> graph = commands ? device.instantiate(*commands, options) : Result<Graph>(commands.error());
    if (!graph) return state.SkipWithError(to_string(graph.error()).c_str());
    const double ready = allocated();
    state.counters["bytes_recorded"] = (recorded - before) / dispatches;
    state.counters["bytes_instantiated"] = (ready - recorded) / dispatches;
    state.counters["bytes"] = (ready - before) / dispatches;
  }
}
