// SPDX-License-Identifier: Apache-2.0
// List scheduling onto a few chains, node by node, with the fewest edges between them.
#include "plan/lanes.hpp"

#include <algorithm>
#include <bit>

namespace pianola::plan {
namespace {

/// Calls visit(index) for each bit.
template <class Visit>
void for_each_bit(uint32_t bits, Visit visit) {
  for (; bits != 0; bits &= bits - 1) visit(static_cast<uint32_t>(std::countr_zero(bits)));
}

}  // namespace

Lanes::Lanes(Plan::Data& data, uint32_t lanes, Ticks edge_cost)
    : data_(data), lanes_(lanes), edge_cost_(edge_cost), clocks_(lanes), latest_(lanes) {
  const size_t count = data.nodes.size();
  ends_.reserve(count);
  rows_.reserve(count);
  clocks_.reserve(count);
  data.first_dep.reserve(count + 1);
  data.deps.reserve(count);
  needed_.reserve(lanes);
}

void Lanes::place(uint32_t node, std::span<const uint32_t> waits, Ticks cost) {
  collect(waits);
  const uint32_t lane = choose(cost);
  const Ticks end = estimate(lane, cost);
  reduce(lane);

  data_.first_dep.push_back(static_cast<uint32_t>(data_.deps.size()));
  Lane& chosen = lanes_[lane];
  if (!needed_.empty()) {
    chosen.row = add_row(lane);
    std::sort(needed_.begin(), needed_.end());
    for (const uint32_t dep : needed_) data_.deps.push_back(NodeId{dep});
  }
  chosen.tail = node + 1;
  chosen.end = end;
  data_.nodes[node].chain = lane;
  ends_.push_back(end);
  rows_.push_back(chosen.row);
  for_each_bit(waiting_, [this](uint32_t index) { latest_[index] = 0; });
}

void Lanes::finish() {
  data_.first_dep.push_back(static_cast<uint32_t>(data_.deps.size()));
  const auto used = std::count_if(lanes_.begin(), lanes_.end(), [](const Lane& lane) { return lane.tail != 0; });
  data_.stats.lanes = static_cast<uint32_t>(used);
  data_.stats.edges = static_cast<uint32_t>(data_.deps.size());
}

void Lanes::collect(std::span<const uint32_t> waits) {
  waiting_ = 0;
  for (const uint32_t wait : waits) {
    const uint32_t lane = data_.nodes[wait].chain;
    waiting_ |= uint32_t{1} << lane;
    latest_[lane] = std::max(latest_[lane], wait + 1);
  }
  // What another one of them has waited for already needs no edge, whatever lane it will be.
  uint32_t implied = 0;
  for_each_bit(waiting_, [&](uint32_t lane) {
    for_each_bit(waiting_ & ~(uint32_t{1} << lane), [&](uint32_t through) {
      if (clock(rows_[latest_[through] - 1], lane) >= latest_[lane]) implied |= uint32_t{1} << lane;
    });
  });
  for_each_bit(implied, [this](uint32_t lane) { latest_[lane] = 0; });
  waiting_ &= ~implied;
}

/// Looks at three lanes: the one of the last node waited for, the first to be free among those that end in a node
/// waited for, and the one that is free for the shortest time when the node can start, so that lanes are used again
/// before new ones are. Leaving the first must gain more than the edge it costs.
uint32_t Lanes::choose(Ticks cost) const {
  if (lanes_.size() == 1) return 0;
  constexpr uint32_t none = UINT32_MAX;
  uint32_t home = none;
  uint32_t tail = none;
  for_each_bit(waiting_, [&](uint32_t lane) {
    if (home == none || ends_[latest_[lane] - 1] > ends_[latest_[home] - 1]) home = lane;
    if (latest_[lane] != lanes_[lane].tail) return;
    if (tail == none || lanes_[lane].end < lanes_[tail].end) tail = lane;
  });
  const Ticks ready = home == none ? 0 : ends_[latest_[home] - 1];
  const auto fits_better = [&](const Lane& lane, const Lane& best) {
    if (lane.end <= ready) return best.end > ready || lane.end > best.end;
    return lane.end < best.end;
  };
  uint32_t first = 0;
  for (uint32_t lane = 1; lane < lanes_.size(); ++lane) {
    if (fits_better(lanes_[lane], lanes_[first])) first = lane;
  }
  if (home == none) return first;
  uint32_t best = home;
  Ticks end = estimate(home, cost);
  for (const uint32_t lane : {tail, first}) {
    if (lane == none || lane == home) continue;
    const Ticks other = estimate(lane, cost);
    if (other + (best == home ? edge_cost_ : 0) >= end) continue;
    best = lane;
    end = other;
  }
  return best;
}

/// When the node would end there: each edge that the lane doesn't imply already costs.
Ticks Lanes::estimate(uint32_t lane, Ticks cost) const {
  Ticks start = lanes_[lane].end;
  Ticks edges = 0;
  const uint32_t row = lanes_[lane].row;
  for_each_bit(waiting_ & ~(uint32_t{1} << lane), [&](uint32_t other) {
    if (clock(row, other) >= latest_[other]) return;
    edges += edge_cost_;
    start = std::max(start, ends_[latest_[other] - 1]);
  });
  return start + edges + cost;
}

void Lanes::reduce(uint32_t lane) {
  needed_.clear();
  const uint32_t row = lanes_[lane].row;
  for_each_bit(waiting_ & ~(uint32_t{1} << lane), [&](uint32_t other) {
    if (clock(row, other) < latest_[other]) needed_.push_back(latest_[other] - 1);
  });
}

/// What is known to be done once the lane's tail and all needed nodes are.
uint32_t Lanes::add_row(uint32_t lane) {
  const size_t width = lanes_.size();
  const auto row = static_cast<uint32_t>(clocks_.size() / width);
  clocks_.resize(clocks_.size() + width);
  uint32_t* to = &clocks_[size_t{row} * width];
  std::copy_n(&clocks_[size_t{lanes_[lane].row} * width], width, to);
  for (const uint32_t dep : needed_) {
    const uint32_t* from = &clocks_[size_t{rows_[dep]} * width];
    for (size_t i = 0; i < width; ++i) to[i] = std::max(to[i], from[i]);
    uint32_t& own = to[data_.nodes[dep].chain];
    own = std::max(own, dep + 1);
  }
  return row;
}

}  // namespace pianola::plan
