// SPDX-License-Identifier: Apache-2.0
// The price of recording, validation included.
#include <benchmark/benchmark.h>

#include <cstdint>

#include "ns_per_command.hpp"
#include "pianola/recorder.hpp"

namespace {

constexpr int pairs = 1000;

// A 64-byte fill and a barrier, again and again; from an empty recorder to a finished command buffer.
void fill_barrier(benchmark::State& state) {
  const bench::NsPerCommand counter(state, 2.0 * pairs);
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
}
BENCHMARK(fill_barrier)->Name("record/fill_barrier");

}  // namespace
