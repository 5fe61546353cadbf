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
};

int run_bench(const BenchOptions& options);

}  // namespace tool
