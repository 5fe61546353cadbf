// SPDX-License-Identifier: Apache-2.0
// One linear order cut by sync points.
#include "plan/waves.hpp"

#include <algorithm>
#include <array>
#include <tuple>

namespace pianola::plan {
namespace {

constexpr std::array kinds = {WorkKind::transfer, WorkKind::compute, WorkKind::collective};

}  // namespace

void Waves::place(uint32_t node, std::span<const uint32_t> waits, std::span<const Conflict> conflicts) {
  uint32_t wave = 0;
  for (const uint32_t wait : waits) wave = std::max(wave, data_.nodes[wait].chain + 1);
  data_.nodes[node].chain = wave;
  if (wave == sizes_.size()) {
    sizes_.push_back(0);
    if (wave != 0) data_.syncs.emplace_back();
  }
  ++sizes_[wave];
  if (wave == 0) return;
  SyncPoint& sync = data_.syncs[wave - 1];
  sync.destination_kinds |= static_cast<uint8_t>(data_.nodes[node].kind);
  for (const Conflict& conflict : conflicts) {
    sync.source_kinds |= conflict.kinds;
    sync.all_memory = sync.all_memory || conflict.all_memory;
    if (conflict.range.size != 0) needs_.push_back({wave, conflict.range});
  }
}

void Waves::place_alone(uint32_t node) {
  const uint32_t before = node - 1;
  if (node == 0) return place(node, {}, {});
  const Conflict all{{}, static_cast<uint8_t>(data_.nodes[before].kind), true};
  place(node, std::span(&before, 1), std::span(&all, 1));
}

void Waves::finish() {
  sort_nodes();
  sort_ranges();
  data_.stats.sync_points = sizes_.empty() ? 0 : static_cast<uint32_t>(sizes_.size() - 1);
}

/// Wave by wave, and within a wave kind by kind, starting with the kind that the wave before ended with.
void Waves::sort_nodes() {
  auto& first = data_.first_in_wave;
  first.assign(sizes_.size() + 1, 0);
  for (size_t wave = 0; wave < sizes_.size(); ++wave) first[wave + 1] = first[wave] + sizes_[wave];
  data_.order.resize(data_.nodes.size());
  std::vector<uint32_t> next(first.begin(), first.end());
  for (uint32_t node = 0; node < data_.nodes.size(); ++node)
    data_.order[next[data_.nodes[node].chain]++] = NodeId{node};

  const auto kind_of = [this](NodeId node) { return data_.nodes[static_cast<uint32_t>(node)].kind; };
  std::vector<NodeId> sorted;
  WorkKind last = WorkKind::transfer;
  for (size_t wave = 0; wave < sizes_.size(); ++wave) {
    const auto nodes = std::span(data_.order).subspan(first[wave], sizes_[wave]);
    uint8_t present = 0;
    for (const NodeId node : nodes) present |= static_cast<uint8_t>(kind_of(node));
    if (wave == 0 && (present & static_cast<uint8_t>(last)) == 0) last = kind_of(nodes.front());
    sorted.clear();
    const auto take = [&](WorkKind kind) {
      if ((present & static_cast<uint8_t>(kind)) == 0) return;
      present = static_cast<uint8_t>(present & ~static_cast<uint8_t>(kind));
      for (const NodeId node : nodes) {
        if (kind_of(node) == kind) sorted.push_back(node);
      }
      data_.stats.kind_switches += kind != last ? 1 : 0;
      last = kind;
    };
    take(last);
    for (const WorkKind kind : kinds) take(kind);
    std::copy(sorted.begin(), sorted.end(), nodes.begin());
  }
}

void Waves::sort_ranges() {
  // By wave first, counting; there are many waves and few ranges in each.
  std::vector<uint32_t> next(sizes_.size() + 1);
  for (const Need& need : needs_) ++next[need.wave];
  for (size_t wave = 1; wave < next.size(); ++wave) next[wave] += next[wave - 1];
  LongVector<Range> by_wave(needs_.size());
  for (const Need& need : needs_) by_wave[--next[need.wave]] = need.range;
  // next[wave] is now where the wave's ranges start.
  for (size_t i = 0; i < data_.syncs.size(); ++i) {
    data_.syncs[i].first_range = static_cast<uint32_t>(data_.sync_ranges.size());
    join_ranges(std::span(by_wave).subspan(next[i + 1], next[i + 2] - next[i + 1]));
  }
  data_.syncs.push_back({.first_range = static_cast<uint32_t>(data_.sync_ranges.size())});
}

/// Adds the ranges sorted, those that touch as one.
void Waves::join_ranges(std::span<Range> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const Range& a, const Range& b) { return std::tie(a.slot, a.offset) < std::tie(b.slot, b.offset); });
  auto& joined = data_.sync_ranges;
  const size_t first = joined.size();
  for (const Range& range : ranges) {
    Range* last = joined.size() > first ? &joined.back() : nullptr;
    if (last != nullptr && last->slot == range.slot && range.offset <= last->offset + last->size) {
      last->size = std::max(last->offset + last->size, range.offset + range.size) - last->offset;
    } else {
      joined.push_back(range);
    }
  }
}

}  // namespace pianola::plan
