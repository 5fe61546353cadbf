// SPDX-License-Identifier: Apache-2.0
// Cuts a plan's nodes into segments: which node goes where, and which segment waits for which.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "plan/plan_data.hpp"

namespace pianola::backend::cpu {

/// Where a node's work stands: in one segment, or with `parts` of them, one part each, starting there.
struct NodePlace {
  uint32_t segment = 0;
  uint32_t parts = 1;
};

/// The work of one plan as segments, before tasks are made. Numbers respect every edge.
struct SegmentGraph {
  std::vector<NodePlace> places;                     ///< one a node
  std::vector<std::pair<uint32_t, uint32_t>> edges;  ///< (earlier, later) segments
  uint32_t count = 0;
};

/// `parts[i]` says into how many parts node i is cut; `cost[i]` is in microseconds.
/// Lanes form: a segment is part of one lane. Waves form: at most `threads` segments a wave, of about equal cost.
SegmentGraph cut_segments(const Plan::Data& plan, const std::vector<uint32_t>& parts, const std::vector<float>& cost,
                          uint32_t threads);

}  // namespace pianola::backend::cpu
