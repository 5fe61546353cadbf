// SPDX-License-Identifier: Apache-2.0
// A plan in the CPU's own form: tasks, and segments of them with what must be done before each.
//
// A segment is a run of tasks that one thread does without looking up: it waits for others only at its start, and
// others wait only for its end. Segments and their tasks stand in an order that every edge respects, so one thread
// may simply do all tasks from first to last. Work too large for one thread is several segments with a part each,
// closed by an empty one. A part is a place for a thread to help, not a fixed piece of the work: run.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/cpu/fill.hpp"
#include "backend/cpu/kernels.hpp"
#include "plan/plan_data.hpp"

namespace pianola::backend::cpu {

enum class TaskKind : uint8_t { fill, update, copy, dispatch };

/// Bytes [offset, offset + size) of a slot, or a dispatch. With more than one part, each part's task names the whole.
struct Task {
  TaskKind kind = TaskKind::fill;
  uint16_t part = 0;
  uint16_t parts = 1;
  uint32_t slot = 0;
  uint32_t first_share = 0;  ///< with more than one part: where the parts' shares stand in a replay
  uint64_t offset = 0;
  uint64_t size = 0;
  struct Source {
    uint64_t offset;
    uint32_t slot;
  };
  union {
    Pattern16 pattern{};     ///< fill; repeated to 16 bytes
    const std::byte* bytes;  ///< update; in the recording's or the plan's memory
    Source source;           ///< copy
    uint32_t dispatch;       ///< index into Program::dispatches
  };
};
static_assert(sizeof(Task) == 48);

struct DispatchWork {
  pianola_host_kernel function = nullptr;
  const DispatchCommand* command = nullptr;  ///< its ranges, constants and counts
  uint32_t source = 0;                       ///< index of the recorded command, for errors
};

struct Segment {
  uint32_t first_task = 0;       ///< up to the next segment's
  uint32_t first_successor = 0;  ///< up to the next segment's
  uint32_t waits_for = 0;        ///< number of segments
};

struct Program {
  Plan plan;  ///< owns what tasks point into
  std::vector<std::shared_ptr<LoadedLibrary>> libraries;
  std::vector<Task> tasks;
  std::vector<DispatchWork> dispatches;
  std::vector<Segment> segments;  ///< and one past the end
  std::vector<uint32_t> successors;
  uint32_t share_count = 0;  ///< parts of all tasks that are cut
  double estimated_us = 0;   ///< by one thread
  bool is_parallel = false;  ///< some segments may run at the same time
  bool has_dispatches = false;
  bool has_indirect = false;        ///< dispatches whose counts may turn out to be over the limit
  bool has_unknown_counts = false;  ///< these, and dispatches whose counts are named constants

  size_t segment_count() const { return segments.empty() ? 0 : segments.size() - 1; }
  std::span<const Task> tasks_of(uint32_t segment) const {
    const uint32_t first = segments[segment].first_task;
    return std::span(tasks).subspan(first, segments[segment + 1].first_task - first);
  }
  std::span<const uint32_t> successors_of(uint32_t segment) const {
    const uint32_t first = segments[segment].first_successor;
    return std::span(successors).subspan(first, segments[segment + 1].first_successor - first);
  }
};

}  // namespace pianola::backend::cpu
