// SPDX-License-Identifier: Apache-2.0
// What a plan consists of. Nodes stand in recorded order, which every edge and every lane respects.
// Barriers, events, discards, debug groups and commands of zero size are no nodes: only their order is kept.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/pages.hpp"
#include "base/pool.hpp"
#include "pianola/plan.hpp"
#include "record/command_buffer_data.hpp"

namespace pianola {

enum class NodeId : uint32_t {};

/// Kinds of work; a set of bits where several are meant.
enum class WorkKind : uint8_t { transfer = 1, compute = 2, collective = 4 };

struct PlanNode {
  const CommandHeader* command = nullptr;  ///< in the recording's arena, or in the plan's if it was changed
  uint32_t source = 0;                     ///< index of the top-level recorded command it came from
  uint32_t chain = 0;                      ///< lanes form: its lane; waves form: its wave
  uint32_t group = 0;                      ///< index into groups; 0 is none
  WorkKind kind = WorkKind::transfer;      ///< what it runs as: a fill that is a kernel is compute work
  bool as_kernel = false;                  ///< fill, copy, update: a built-in kernel instead of the native form
};

/// Debug groups form a tree; entry 0 is the root.
struct PlanGroup {
  uint32_t parent = 0;
  uint32_t rgba = 0;
  std::string label;
};

/// Waves form: what must be done before wave i + 1 starts. Sync point i stands between waves i and i + 1.
struct SyncPoint {
  uint8_t source_kinds = 0;       ///< WorkKind bits of the work waited for
  uint8_t destination_kinds = 0;  ///< WorkKind bits of the work that waits
  bool all_memory = false;        ///< its ranges don't tell everything: opaque kernels, aliasing slots, serial order
  uint32_t first_range = 0;       ///< its ranges: [first_range, next sync point's first_range)
};

struct Plan::Data {
  CommandBuffer commands;
  PlanForm form = PlanForm::lanes;
  PlanStats stats;
  /// Holds commands that were merged, or remapped from nested command buffers.
  std::unique_ptr<Pool> records;
  LongVector<PlanNode> nodes;
  std::vector<PlanGroup> groups;

  // Lanes form. Edges from other lanes only: the earlier node of the same lane comes first anyway.
  LongVector<uint32_t> first_dep;  ///< nodes.size() + 1 entries
  LongVector<NodeId> deps;         ///< increasing for each node; every one is needed

  // Waves form. order lists the nodes wave by wave; within a wave, work of one kind stands together.
  LongVector<NodeId> order;
  std::vector<uint32_t> first_in_wave;  ///< into order; number of waves + 1 entries
  std::vector<SyncPoint> syncs;         ///< number of waves - 1, and one past the end
  LongVector<Range> sync_ranges;        ///< conflicting ranges, sorted and disjoint for each; tag is unused

  std::span<const NodeId> deps_of(size_t node) const {
    return std::span(deps).subspan(first_dep[node], first_dep[node + 1] - first_dep[node]);
  }
  std::span<const NodeId> wave(size_t index) const {
    return std::span(order).subspan(first_in_wave[index], first_in_wave[index + 1] - first_in_wave[index]);
  }
};

}  // namespace pianola
