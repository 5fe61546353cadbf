// SPDX-License-Identifier: Apache-2.0
// The price of planning, a command.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>
#include <vector>

#include "bench_kernels.hpp"
#include "ns_per_command.hpp"
#include "pianola/plan.hpp"
#include "pianola/recorder.hpp"

namespace {

// A number that is spread evenly over its range and the same in every run.
uint64_t scatter(uint64_t value) {
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  return value ^ (value >> 27U);
}

pianola::CommandBuffer finish(pianola::Recorder& recorder, benchmark::State& state) {
  auto commands = recorder.finish();
  if (commands) return *commands;
  state.SkipWithError(pianola::to_string(commands.error()).c_str());
  return {};
}

void plan(benchmark::State& state, const pianola::CommandBuffer& commands, const pianola::DeviceProfile& profile = {}) {
  if (!commands) return;
  const bench::NsPerCommand counter(state, commands.command_count());
  for (auto _ : state) {
    auto made = pianola::make_plan(commands, profile);
    if (!made) {
      state.SkipWithError(pianola::to_string(made.error()).c_str());
      return;
    }
    benchmark::DoNotOptimize(made->data());
  }
}

// Kernels from the library that lies in this program.
pianola::Kernel kernel(const char* name, benchmark::State& state) {
  static const auto library = pianola::KernelLibrary::from_bytes(bench_kernels());
  if (library) return (*library)[name];
  state.SkipWithError(pianola::to_string(library.error()).c_str());
  return {};
}

// Fill and dispatch in turn over 1,000 buffers, a barrier every 32 commands.
pianola::CommandBuffer mixed_list(benchmark::State& state) {
  const pianola::Kernel copy = kernel("copy_words", state);
  pianola::Recorder recorder;
  std::vector<pianola::BufferRef> buffers;
  for (int i = 0; i < 1000; ++i) buffers.push_back(recorder.buffer("buffer" + std::to_string(i), 4096));
  const auto any = [&](uint64_t seed) { return scatter(seed) % buffers.size(); };
  const auto count = static_cast<uint64_t>(state.range(0));
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t target = any(2 * i);
    if (i % 32 == 31) {
      recorder.barrier();
    } else if (i % 2 == 0) {
      recorder.fill(buffers[target], static_cast<uint32_t>(i));
    } else {
      const uint64_t source = (target + 1 + any(2 * i + 1) % (buffers.size() - 1)) % buffers.size();
      recorder.dispatch(copy, {.groups = {4}, .constants = {1024U}, .bindings = {buffers[source], buffers[target]}});
    }
  }
  return finish(recorder, state);
}

void mixed(benchmark::State& state) {
  plan(state, mixed_list(state));
}
BENCHMARK(mixed)->Name("plan/mixed")->Arg(10'000)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

void mixed_wide(benchmark::State& state) {
  plan(state, mixed_list(state), {.lanes = 16});
}
BENCHMARK(mixed_wide)->Name("plan/mixed_16_lanes")->Arg(1'000'000)->Unit(benchmark::kMillisecond);

void mixed_waves(benchmark::State& state) {
  plan(state, mixed_list(state), {.form = pianola::PlanForm::waves});
}
BENCHMARK(mixed_waves)->Name("plan/mixed_waves")->Arg(1'000'000)->Unit(benchmark::kMillisecond);

// Readers of one buffer, a barrier, writers of disjoint pieces of it.
void pieces(benchmark::State& state) {
  const pianola::Kernel copy = kernel("copy_words", state);
  const auto count = static_cast<uint64_t>(state.range(0));
  pianola::Recorder recorder;
  const pianola::BufferRef whole = recorder.buffer("whole", count * 16);
  const pianola::BufferRef result = recorder.buffer("result", count * 16);
  for (uint64_t i = 0; i < count; ++i) {
    recorder.dispatch(copy, {.constants = {1U}, .bindings = {whole, result.view(16 * i, 16)}});
  }
  recorder.barrier();
  for (uint64_t i = 0; i < count; ++i) recorder.fill(whole.view(16 * i, 16), static_cast<uint32_t>(i));
  plan(state, finish(recorder, state));
}
BENCHMARK(pieces)->Name("plan/pieces")->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace
