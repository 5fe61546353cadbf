// SPDX-License-Identifier: Apache-2.0
// Questions that tests ask of a plan.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "../support/plan_script.hpp"
#include "pianola/plan.hpp"
#include "plan/plan_data.hpp"

namespace pianola {

/// Edges that cost nothing, and many lanes: nodes share a lane only if one waits for the other.
inline DeviceProfile wide_profile(PlanForm form) {
  return {.form = form, .lanes = 32, .edge_us = 0};
}

/// A list planned in both forms, with questions about its order. Nodes are named by their command's index.
class Planned {
 public:
  explicit Planned(const CommandBuffer& commands, PlanOptions options = {}) {
    for (const PlanForm form : {PlanForm::lanes, PlanForm::waves}) {
      auto plan = make_plan(commands, wide_profile(form), options);
      EXPECT_TRUE(plan) << to_string(plan.error());
      if (plan) plans_.push_back(*plan);
    }
  }

  const Plan& lanes() const { return plans_.front(); }
  const Plan& waves() const { return plans_.back(); }

  /// Both plans make `second` wait for `first`.
  bool orders(uint32_t first, uint32_t second) const {
    return reaches(find(lanes(), first), find(lanes(), second)) && wave_of(first) < wave_of(second);
  }
  /// The lanes make `second` wait for nothing that leads to `first`. (Waves order more than they must.)
  bool leaves(uint32_t first, uint32_t second) const { return !reaches(find(lanes(), first), find(lanes(), second)); }

 private:
  static uint32_t find(const Plan& plan, uint32_t command) {
    const auto& nodes = plan.data()->nodes;
    const auto found = std::find_if(nodes.begin(), nodes.end(), [&](const auto& n) { return n.source == command; });
    EXPECT_NE(found, nodes.end()) << "no node for command " << command;
    return static_cast<uint32_t>(found - nodes.begin());
  }
  uint32_t wave_of(uint32_t command) const { return waves().data()->nodes[find(waves(), command)].chain; }

  bool reaches(uint32_t first, uint32_t second) const {
    const Plan::Data& data = *lanes().data();
    std::vector<char> reached(data.nodes.size());
    std::vector<uint32_t> tails(32, UINT32_MAX);
    for (uint32_t node = 0; node <= second && node < data.nodes.size(); ++node) {
      uint32_t& tail = tails[data.nodes[node].chain];
      reached[node] = node == first || (tail != UINT32_MAX && reached[tail] != 0);
      for (const NodeId dep : data.deps_of(node)) reached[node] |= reached[static_cast<uint32_t>(dep)];
      tail = node;
    }
    return first != second && reached[second] != 0;
  }

  std::vector<Plan> plans_;
};

}  // namespace pianola
