// SPDX-License-Identifier: Apache-2.0
#include "backend/metal/waves.hpp"

#include <algorithm>

namespace pianola::backend::metal {
namespace {

/// The first wave in which every edge of a node, and the node before it in its lane, is over.
std::vector<uint32_t> wave_of_each(const Plan::Data& plan) {
  std::vector<uint32_t> waves(plan.nodes.size());
  std::vector<uint32_t> next_of_lane;
  for (size_t i = 0; i < plan.nodes.size(); ++i) {
    const uint32_t lane = plan.nodes[i].chain;
    if (lane >= next_of_lane.size()) next_of_lane.resize(lane + 1);
    uint32_t wave = next_of_lane[lane];
    for (const NodeId dep : plan.deps_of(i)) wave = std::max(wave, waves[static_cast<uint32_t>(dep)] + 1);
    waves[i] = wave;
    next_of_lane[lane] = wave + 1;
  }
  return waves;
}

}  // namespace

WaveOrder waves_of(const Plan::Data& plan) {
  if (plan.form == PlanForm::waves) {
    return {{plan.order.begin(), plan.order.end()}, {plan.first_in_wave.begin(), plan.first_in_wave.end()}};
  }
  const auto waves = wave_of_each(plan);
  WaveOrder result;
  const uint32_t total = waves.empty() ? 0 : *std::ranges::max_element(waves) + 1;
  result.first.assign(total + 1, 0);
  for (const uint32_t wave : waves) ++result.first[wave + 1];
  for (uint32_t wave = 0; wave < total; ++wave) result.first[wave + 1] += result.first[wave];
  result.order.resize(waves.size());
  std::vector<uint32_t> next(result.first);
  for (uint32_t node = 0; node < waves.size(); ++node) result.order[next[waves[node]]++] = NodeId{node};
  return result;
}

std::span<const Range> ranges_before(const Plan::Data& plan, size_t wave) {
  if (plan.form != PlanForm::waves) return {};
  const SyncPoint& sync = plan.syncs[wave - 1];
  if (sync.all_memory) return {};
  return std::span(plan.sync_ranges).subspan(sync.first_range, plan.syncs[wave].first_range - sync.first_range);
}

}  // namespace pianola::backend::metal
