// SPDX-License-Identifier: Apache-2.0
// What one run of the conformance program tests: a device, and a way of replaying.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "pianola/pianola.hpp"

namespace pianola::conformance {

enum class Strategy {
  first,    ///< instantiate, submit once
  replay,   ///< launches 1, 2 and 100 of one graph
  rebound,  ///< other buffers and constants given at submit
  oneshot,  ///< queue.run without a graph
};

/// A way of running every list. Suites named Api* run in mode `api` only, Random* in mode `random` only.
struct Mode {
  std::string name;
  Strategy strategy = Strategy::first;
  bool direct = false;  ///< buffers are bound when recorded
  PlanOptions plan;
  bool native_graph = true;
};

struct RunOptions {
  std::string device = "cpu";
  DeviceOptions device_options;
  std::string oracle = "cpu";  ///< opened in serial mode
  std::string kernels;         ///< path of the kernel library
  Mode mode;
  uint64_t seed = 1;   ///< of the first random list
  uint32_t lists = 0;  ///< random lists; 0 is the mode's own number
  bool quick = false;  ///< 3 launches instead of 100, shorter lists: for devices that are slow because they check
};

/// The mode of that name; none if there is no such mode.
std::optional<Mode> find_mode(std::string_view name);
/// Names of all modes, with commas between.
std::string mode_names();

/// This run's options; set once by main().
const RunOptions& run_options();
void set_run_options(RunOptions options);

}  // namespace pianola::conformance
