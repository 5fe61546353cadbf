// SPDX-License-Identifier: Apache-2.0
// The recorded list with nested command buffers inlined: work as nodes, and everything else between them as cuts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/pool.hpp"
#include "plan/plan_data.hpp"

namespace pianola::plan {

/// Something that orders or forgets, standing before node `at`. `at` never decreases from one cut to the next.
struct Cut {
  enum class Kind : uint8_t {
    barrier,   ///< whole
    narrowed,  ///< to `ranges`
    signal,
    wait,     ///< of the signal at cuts[signal]
    discard,  ///< of the one range in `ranges`
  };
  Kind kind = Kind::barrier;
  uint32_t at = 0;
  uint32_t signal = 0;
  std::span<const Range> ranges;
};

struct FlatList {
  LongVector<PlanNode> nodes;
  LongVector<Cut> cuts;
  std::vector<PlanGroup> groups;
  bool has_opaque = false;  ///< a kernel that conflicts with everything is among the nodes
  uint32_t commands = 0;
  uint32_t elided = 0;
  uint32_t barriers = 0;
};

/// True for a dispatch whose kernel says that it may touch anything.
bool is_opaque(const CommandHeader& command, const CommandBuffer::Data& recording);

/// Inlines the recording. Changed commands are written to `records`; others are pointed to.
/// Errors: limit_exceeded (over 2^30 commands). Throws std::bad_alloc.
Result<FlatList> flatten(const CommandBuffer::Data& recording, Pool& records);

}  // namespace pianola::plan
