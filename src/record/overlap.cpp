// SPDX-License-Identifier: Apache-2.0
#include "record/overlap.hpp"

#include <algorithm>
#include <array>

namespace pianola {
namespace {

constexpr size_t kind_of(bool written, bool may_alias) {
  return (written ? 1U : 0U) | (may_alias ? 2U : 0U);
}

constexpr bool conflict(size_t a, size_t b) {
  const bool written = ((a | b) & 1U) != 0;
  const bool both_may_alias = (a & b & 2U) != 0;
  return written && !both_may_alias;
}

}  // namespace

std::optional<std::pair<uint32_t, uint32_t>> find_overlap(std::vector<SlotInterval> intervals) {
  std::erase_if(intervals, [](const SlotInterval& interval) { return interval.begin == interval.end; });
  std::ranges::sort(intervals, {}, &SlotInterval::begin);
  // For each kind of slot, the one that reaches furthest so far: whoever overlaps any, overlaps that one.
  std::array<const SlotInterval*, 4> furthest{};
  for (const SlotInterval& interval : intervals) {
    const size_t kind = kind_of(interval.written, interval.may_alias);
    for (size_t other = 0; other < furthest.size(); ++other) {
      if (furthest[other] != nullptr && conflict(kind, other) && furthest[other]->end > interval.begin) {
        return std::pair(furthest[other]->slot, interval.slot);
      }
    }
    if (furthest[kind] == nullptr || furthest[kind]->end < interval.end) furthest[kind] = &interval;
  }
  return std::nullopt;
}

}  // namespace pianola
