// SPDX-License-Identifier: Apache-2.0
// List scheduling onto a few chains, node by node, with the fewest edges between them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/choose.hpp"
#include "plan/plan_data.hpp"

namespace pianola::plan {

/// Places nodes in list order. Every lane is a chain, so a wait for a node waits for its lane up to it.
class Lanes {
 public:
  /// `data` gets first_dep, deps and the nodes' chains. Precondition: 1 <= lanes <= 32.
  Lanes(Plan::Data& data, uint32_t lanes, Ticks edge_cost);

  /// Places the next node after all of `waits`: on the lane where it is estimated to end first, and among
  /// equals on the one that it continues.
  void place(uint32_t node, std::span<const uint32_t> waits, Ticks cost);
  void finish();

 private:
  struct Lane {
    Ticks end = 0;
    uint32_t tail = 0;  ///< node + 1; 0 is none
    uint32_t row = 0;   ///< of the tail
  };
  /// Fills waiting_ and latest_: waits that no other wait implies.
  void collect(std::span<const uint32_t> waits);
  uint32_t choose(Ticks cost) const;
  Ticks estimate(uint32_t lane, Ticks cost) const;
  /// Fills needed_: waits that the lane does not imply.
  void reduce(uint32_t lane);
  uint32_t clock(uint32_t row, uint32_t lane) const { return clocks_[size_t{row} * lanes_.size() + lane]; }
  uint32_t add_row(uint32_t lane);

  Plan::Data& data_;
  std::vector<Lane> lanes_;
  const Ticks edge_cost_;
  LongVector<Ticks> ends_;       ///< estimated, by node
  LongVector<uint32_t> rows_;    ///< row of clocks_, by node; nodes without edges share their lane's
  LongVector<uint32_t> clocks_;  ///< rows: for each other lane, the latest node (plus one) known to be done

  // While one node is placed.
  std::vector<uint32_t> latest_;  ///< for each lane, the latest node (plus one) to wait for
  uint32_t waiting_ = 0;          ///< lanes to wait for, as bits
  std::vector<uint32_t> needed_;
};

}  // namespace pianola::plan
