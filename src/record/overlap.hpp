// SPDX-License-Identifier: Apache-2.0
// Different slots must not overlap in memory where either is written, unless both may alias.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace pianola {

/// The bytes [begin, end) that a slot uses.
struct SlotInterval {
  uintptr_t begin = 0;
  uintptr_t end = 0;
  uint32_t slot = 0;
  bool written = false;
  bool may_alias = false;
};

/// Two slots that overlap where they must not, if there are any. O(n log n).
std::optional<std::pair<uint32_t, uint32_t>> find_overlap(std::vector<SlotInterval> intervals);

}  // namespace pianola
