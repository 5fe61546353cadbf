// SPDX-License-Identifier: Apache-2.0
// The price of recording, validation included.
#include <benchmark/benchmark.h>

#include <cstdint>

#include "pianola/recorder.hpp"

namespace {

constexpr int pairs = 1000;

// A 64-byte fill and a barrier, again and again; from an empty recorder to a finished command buffer.
void fill_barrier(benchmark::State& state) {
  for (auto _ : state) {
    pianola::Recorder recorder;
    const pianola::BufferRef buffer = recorder.buffer("buffer", 64);
    for (int i = 0; i < pairs; ++i) {
      recorder.fill(buffer, static_cast<uint32_t>(i)).barrier();
    }
    auto commands = recorder.finish();
    if (!commands) {
      state.SkipWithError(pianola::to_string(commands.error()).c_str());
      return;
    }
    benchmark::DoNotOptimize(commands->data());
  }
  using benchmark::Counter;
  state.counters["ns_per_command"] = Counter(2.0 * pairs * 1e-9, Counter::kIsIterationInvariantRate | Counter::kInvert);
}
BENCHMARK(fill_barrier)->Name("record/fill_barrier");

}  // namespace
