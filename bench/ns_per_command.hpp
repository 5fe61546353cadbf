// SPDX-License-Identifier: Apache-2.0
// The counter ns_per_command: wall-clock nanoseconds of an iteration, divided by its commands.
#pragma once

#include <benchmark/benchmark.h>

#include <chrono>

namespace bench {

/// Made directly before the loop; the counter is set when it ends.
class NsPerCommand {
 public:
  NsPerCommand(benchmark::State& state, double commands)
      : state_(state), commands_(commands), begin_(std::chrono::steady_clock::now()) {}
  NsPerCommand(const NsPerCommand&) = delete;
  NsPerCommand& operator=(const NsPerCommand&) = delete;
  ~NsPerCommand() {
    const std::chrono::duration<double, std::nano> elapsed = std::chrono::steady_clock::now() - begin_;
    state_.counters["ns_per_command"] = elapsed.count() / static_cast<double>(state_.iterations()) / commands_;
  }

 private:
  benchmark::State& state_;
  double commands_;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace bench
