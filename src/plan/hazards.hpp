// SPDX-License-Identifier: Apache-2.0
// The only place that knows what conflicts: which earlier nodes a node must wait for.
//
// Time is the number of nodes so far. A seal is a time: accesses of nodes before it are ordered against what
// comes now, later ones aren't. Barriers and waits move the seal; a narrowed barrier moves it for its bytes.
// Every byte of a slot belongs to an interval that keeps marks of its readers and writers: few of them, as
// marks of one chain are joined, and marks that a sealed write has waited for are dropped.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/pool.hpp"
#include "plan/access.hpp"
#include "plan/flatten.hpp"
#include "plan/marks.hpp"
#include "plan/range_map.hpp"

namespace pianola::plan {

/// Bytes on which a node conflicts with earlier ones, for sync points.
struct Conflict {
  Range range;              ///< of no bytes if it is not on one range
  uint8_t kinds = 0;        ///< WorkKind bits of the earlier nodes
  bool all_memory = false;  ///< an opaque kernel, aliasing slots, a channel's order
};

class Hazards {
 public:
  /// For the nodes of `data` and the cuts of `list`; both must outlive this. The caller sets each node's kind
  /// before it is added, and its chain before the next one is.
  Hazards(const Plan::Data& data, const FlatList& list, Ordering ordering, PlanForm form);

  void cut(const Cut& cut);

  /// Adds the node, and gives the earlier ones it must wait for: in no order, some more than once, and
  /// without those that are waited for through others. Valid until the next call.
  std::span<const uint32_t> add(uint32_t node);
  /// Waves form: what the last node added conflicts with.
  std::span<const Conflict> conflicts() const { return conflicts_; }

 private:
  struct Interval {
    MarkList readers;
    MarkList writers;
  };
  using Intervals = RangeMap<Interval>;
  using Stamps = RangeMap<uint32_t>;

  /// The memory of one slot, or of several that are treated as one.
  struct Memory {
    explicit Memory(Pool* pool) : intervals(pool), stamps(pool) {}
    Intervals intervals;
    Stamps stamps;              ///< seals by narrowed barriers
    uint32_t newest_stamp = 0;  ///< none if it isn't after the seal
    bool is_whole = false;      ///< no range tells its conflicts: every access is to all of it
  };

  void place_slots(const CommandBuffer::Data& recording);
  void narrow(const Range& range);
  void discard(const AccessRange& access);
  void touch(uint32_t memory, const AccessRange& access);
  void touch_stamped(Memory& memory, const AccessRange& access);
  void touch_sealed(Memory& memory, const AccessRange& access, uint32_t seal);
  void visit(Interval& interval, bool is_write, uint32_t seal);
  void mark(Interval& interval, bool is_write, uint32_t seal);
  /// Makes the span one interval with the marks of all.
  void unite(Memory& memory, const Intervals::Span& span, uint32_t seal);
  uint32_t highest_stamp(Memory& memory, uint64_t begin, uint64_t end);
  void wait_for(uint32_t node, uint32_t kinds);
  Interval copy(const Interval& interval) { return {marks_.copy(interval.readers), marks_.copy(interval.writers)}; }
  CompactRule rule(uint32_t seal) const { return {data_.nodes, is_waves_, now_, seal, last_signal_}; }

  const Plan::Data& data_;
  const FlatList& list_;
  const bool is_inferred_;
  const bool is_waves_;
  Pool pool_;
  MarkPool marks_;
  std::vector<Memory> memory_;
  std::vector<uint32_t> memory_of_slot_;
  uint32_t world_ = 0;                       ///< memory that opaque kernels write and all others read
  std::vector<uint32_t> latest_collective_;  ///< by channel, plus one; 0 is none
  uint32_t seal_ = 0;
  uint32_t last_signal_ = 0;

  // While one node is added.
  uint32_t now_ = 0;
  uint32_t waited_kinds_ = 0;
  std::vector<uint32_t> deps_;
  std::vector<Conflict> conflicts_;
};

}  // namespace pianola::plan
