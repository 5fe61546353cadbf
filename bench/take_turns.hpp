// SPDX-License-Identifier: Apache-2.0
// Pianola and the same work by hand take turns in one loop: the counters are the medians of both, in microseconds, and
// their ratio.
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

namespace bench {

inline double median(std::vector<double>& times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

/// Microseconds that `work` takes; negative if it fails.
template <class Work>
double time_of(const Work& work) {
  const auto begin = std::chrono::steady_clock::now();
  const bool good = work();
  const std::chrono::duration<double, std::micro> elapsed = std::chrono::steady_clock::now() - begin;
  return good ? elapsed.count() : -1;
}

/// Runs both by turns. `rest` comes after each, untimed.
template <class Ours, class Hand, class Rest>
void take_turns(benchmark::State& state, const Ours& ours, const Hand& hand, const Rest& rest) {
  std::vector<double> times[2];
  for (auto _ : state) {
    times[0].push_back(time_of(ours));
    const bool good = rest();
    times[1].push_back(time_of(hand));
    if (times[0].back() < 0 || times[1].back() < 0 || !good || !rest()) {
      state.SkipWithError("a run failed");
      return;
    }
    state.SetIterationTime(times[0].back() * 1e-6);
  }
  const double us = median(times[0]);
  const double hand_us = median(times[1]);
  state.counters["us"] = us;
  state.counters["hand_us"] = hand_us;
  state.counters["ratio"] = us / hand_us;
}

}  // namespace bench
