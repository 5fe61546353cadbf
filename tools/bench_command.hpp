// SPDX-License-Identifier: Apache-2.0
// `pianola bench`: nanoseconds a command on one device, stage by stage, for the built-in lists.
#pragma once

#include <string>
#include <vector>

namespace tool {

struct BenchOptions {
  std::string device = "auto";
  std::vector<std::string> lists;  ///< empty: all
  bool quick = false;              ///< a tenth of the time, for a first look
  bool json = false;
  std::string driver;  ///< a driver library instead of the one on the search path
  std::string trace;   ///< a file for the times of every command, or empty
};

int run_bench(const BenchOptions& options);

}  // namespace tool
