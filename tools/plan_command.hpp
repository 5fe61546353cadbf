// SPDX-License-Identifier: Apache-2.0
// `pianola show plan`: what really waits for what in a built-in list.
#pragma once

#include <string>

#include "pianola/plan.hpp"

namespace tool {

struct ShowPlanOptions {
  std::string list;
  std::string device;  ///< whose profile to plan for; empty: the default profile
  pianola::PlanOptions plan;
  uint32_t size = 0;  ///< 0: the list's own
  bool graphviz = false;
  bool json = false;
  bool native = false;  ///< also what the backend makes of it
  std::string driver;   ///< a driver library instead of the one on the search path
};

int run_show_plan(const ShowPlanOptions& options);

}  // namespace tool
