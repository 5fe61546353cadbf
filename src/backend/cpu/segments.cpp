// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/segments.hpp"

#include <algorithm>

namespace pianola::backend::cpu {
namespace {

constexpr uint32_t none = UINT32_MAX;

/// Numbers segments and edges while the nodes are walked in order.
class Cutter {
 public:
  Cutter(SegmentGraph& graph, const std::vector<uint32_t>& parts) : graph_(graph), parts_(parts) {}

  uint32_t new_segment() { return graph_.count++; }
  void add_edge(uint32_t earlier, uint32_t later) { graph_.edges.emplace_back(earlier, later); }

  void place(size_t node, uint32_t segment) { graph_.places[node] = {.segment = segment}; }

  /// A cut node: its parts, then the empty segment that closes them. Returns the closing one.
  uint32_t place_parts(size_t node) {
    const uint32_t first = graph_.count;
    graph_.count += parts_[node] + 1;
    graph_.places[node] = {.segment = first, .parts = parts_[node]};
    const uint32_t close = first + parts_[node];
    for (uint32_t i = first; i < close; ++i) add_edge(i, close);
    return close;
  }
  bool is_cut(size_t node) const { return parts_[node] > 1; }

  /// What follows the node waits for this segment.
  uint32_t end_of(size_t node) const {
    const NodePlace& place = graph_.places[node];
    return place.parts > 1 ? place.segment + place.parts : place.segment;
  }
  /// The node's work starts only when that segment is done.
  void wait_for(size_t node, uint32_t earlier) {
    const NodePlace& place = graph_.places[node];
    for (uint32_t i = 0; i < place.parts; ++i) add_edge(earlier, place.segment + i);
  }

 private:
  SegmentGraph& graph_;
  const std::vector<uint32_t>& parts_;
};

void cut_lanes(const Plan::Data& plan, Cutter& cutter) {
  const size_t count = plan.nodes.size();
  std::vector<bool> is_awaited(count);
  for (const NodeId dep : plan.deps) is_awaited[static_cast<uint32_t>(dep)] = true;
  uint32_t lanes = 0;
  for (const PlanNode& node : plan.nodes) lanes = std::max(lanes, node.chain + 1);

  std::vector<uint32_t> previous(lanes, none);  // node
  std::vector<uint32_t> open(lanes, none);      // segment that takes more nodes
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t lane = plan.nodes[i].chain;
    const auto deps = plan.deps_of(i);
    if (open[lane] != none && deps.empty() && !cutter.is_cut(i)) {
      cutter.place(i, open[lane]);
    } else {
      if (cutter.is_cut(i)) {
        cutter.place_parts(i);
      } else {
        cutter.place(i, cutter.new_segment());
      }
      if (previous[lane] != none) cutter.wait_for(i, cutter.end_of(previous[lane]));
      for (const NodeId dep : deps) cutter.wait_for(i, cutter.end_of(static_cast<uint32_t>(dep)));
    }
    previous[lane] = i;
    open[lane] = cutter.is_cut(i) || is_awaited[i] ? none : cutter.end_of(i);
  }
}

/// One wave's segments; returns what the next wave waits for.
uint32_t cut_wave(std::span<const NodeId> wave, uint32_t before, const std::vector<float>& cost, uint32_t threads,
                  Cutter& cutter) {
  float whole = 0;
  for (const NodeId id : wave) {
    if (!cutter.is_cut(static_cast<uint32_t>(id))) whole += cost[static_cast<uint32_t>(id)];
  }
  const float share = whole / static_cast<float>(threads);
  std::vector<uint32_t> ends;
  uint32_t open = none;
  float filled = 0;
  for (const NodeId id : wave) {
    const auto node = static_cast<uint32_t>(id);
    if (cutter.is_cut(node)) {
      ends.push_back(cutter.place_parts(node));
      if (before != none) cutter.wait_for(node, before);
      open = none;
      continue;
    }
    if (open == none || filled >= share) {
      open = cutter.new_segment();
      filled = 0;
      ends.push_back(open);
      if (before != none) cutter.add_edge(before, open);
    }
    cutter.place(node, open);
    filled += cost[node];
  }
  if (ends.size() == 1) return ends[0];
  const uint32_t close = cutter.new_segment();
  for (const uint32_t end : ends) cutter.add_edge(end, close);
  return close;
}

}  // namespace

SegmentGraph cut_segments(const Plan::Data& plan, const std::vector<uint32_t>& parts, const std::vector<float>& cost,
                          uint32_t threads) {
  SegmentGraph graph;
  graph.places.resize(plan.nodes.size());
  Cutter cutter(graph, parts);
  if (plan.form == PlanForm::lanes) {
    cut_lanes(plan, cutter);
    return graph;
  }
  uint32_t before = none;
  for (size_t i = 0; i + 1 < plan.first_in_wave.size(); ++i) {
    const auto wave = plan.wave(i);
    if (!wave.empty()) before = cut_wave(wave, before, cost, threads, cutter);
  }
  return graph;
}

}  // namespace pianola::backend::cpu
