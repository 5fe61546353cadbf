// SPDX-License-Identifier: Apache-2.0
#include "backend/driver_graph/order.hpp"

#include <algorithm>

namespace pianola::driver_graph {
namespace {

constexpr uint32_t none = UINT32_MAX;

Order order_of_lanes(const Plan::Data& plan) {
  Order order;
  const auto count = static_cast<uint32_t>(plan.nodes.size());
  std::vector<uint32_t> tail;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t lane = plan.nodes[i].chain;
    if (lane >= tail.size()) tail.resize(lane + 1, none);
    order.nodes.push_back(i);
    order.lane.push_back(lane);
    order.first_dep.push_back(static_cast<uint32_t>(order.deps.size()));
    for (const NodeId dep : plan.deps_of(i)) order.deps.push_back(static_cast<uint32_t>(dep));
    if (tail[lane] != none) order.deps.push_back(tail[lane]);
    std::sort(order.deps.begin() + order.first_dep.back(), order.deps.end());
    tail[lane] = i;
  }
  order.first_dep.push_back(static_cast<uint32_t>(order.deps.size()));
  order.lanes = std::max<uint32_t>(1, static_cast<uint32_t>(tail.size()));
  return order;
}

Order order_of_waves(const Plan::Data& plan, uint32_t lanes) {
  Order order;
  order.lanes = lanes;
  std::vector<uint32_t> before;  // tails of the wave before
  for (size_t w = 0; w + 1 < plan.first_in_wave.size(); ++w) {
    std::vector<uint32_t> tail(lanes, none);
    uint32_t next = 0;
    for (const NodeId node : plan.wave(w)) {
      const auto at = static_cast<uint32_t>(order.nodes.size());
      const uint32_t lane = next++ % lanes;
      order.nodes.push_back(static_cast<uint32_t>(node));
      order.lane.push_back(lane);
      order.first_dep.push_back(static_cast<uint32_t>(order.deps.size()));
      if (tail[lane] == none) {
        order.deps.insert(order.deps.end(), before.begin(), before.end());
      } else {
        order.deps.push_back(tail[lane]);
      }
      tail[lane] = at;
    }
    std::erase(tail, none);
    std::sort(tail.begin(), tail.end());
    if (!tail.empty()) before = std::move(tail);
  }
  order.first_dep.push_back(static_cast<uint32_t>(order.deps.size()));
  return order;
}

}  // namespace

Order make_order(const Plan::Data& plan, uint32_t lanes) {
  return plan.form == PlanForm::lanes ? order_of_lanes(plan) : order_of_waves(plan, std::max(lanes, 1U));
}

}  // namespace pianola::driver_graph
