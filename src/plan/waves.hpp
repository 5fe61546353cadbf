// SPDX-License-Identifier: Apache-2.0
// One linear order cut by sync points: each node in the earliest wave it may be in, so that there are as few
// waves as the longest chain of waits has nodes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/hazards.hpp"
#include "plan/plan_data.hpp"

namespace pianola::plan {

class Waves {
 public:
  /// `data` gets order, first_in_wave, syncs, sync_ranges and the nodes' chains.
  explicit Waves(Plan::Data& data) : data_(data) {}

  /// Places the next node in the first wave after all of `waits`.
  void place(uint32_t node, std::span<const uint32_t> waits, std::span<const Conflict> conflicts);
  /// Places the next node in a wave of its own.
  void place_alone(uint32_t node);
  void finish();

 private:
  struct Need {
    uint32_t wave = 0;
    Range range;
  };
  void sort_nodes();
  void sort_ranges();
  void join_ranges(std::span<Range> ranges);

  Plan::Data& data_;
  std::vector<uint32_t> sizes_;  ///< nodes, by wave
  LongVector<Need> needs_;
};

}  // namespace pianola::plan
