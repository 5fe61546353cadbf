// SPDX-License-Identifier: Apache-2.0
// Both forms of a plan as one thing: a sequence of nodes, each with a lane and the nodes it comes after.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/plan_data.hpp"

namespace pianola::driver_graph {

struct Order {
  std::vector<uint32_t> nodes;      ///< every node once; dependencies come first
  std::vector<uint32_t> lane;       ///< by position
  std::vector<uint32_t> first_dep;  ///< by position; one more than nodes
  std::vector<uint32_t> deps;       ///< positions; the one before in the same lane is among them
  uint32_t lanes = 1;
};

/// Waves are dealt to `lanes` lanes, and each wave's heads wait for all tails of the wave before.
Order make_order(const Plan::Data& plan, uint32_t lanes);

}  // namespace pianola::driver_graph
