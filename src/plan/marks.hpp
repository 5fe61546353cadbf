// SPDX-License-Identifier: Apache-2.0
// Who touched an interval: short lists of marks, kept in one pool.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "plan/plan_data.hpp"

namespace pianola::plan {

/// One or several accesses of one chain. Several stand as one: whoever waits for `dep` has waited for all.
struct Mark {
  uint32_t dep = 0;    ///< node to wait for
  uint32_t first = 0;  ///< earliest node meant
  uint32_t last = 0;   ///< latest node meant
  uint32_t seal = 0;   ///< conflicting accesses of the interval by nodes before this one come before `dep`
  uint32_t kinds = 0;  ///< WorkKind bits of the nodes meant
  uint32_t next = 0;   ///< in the pool
};

inline constexpr uint32_t no_mark = std::numeric_limits<uint32_t>::max();
inline constexpr uint32_t compact_from = 8;  ///< marks in a list before joining is tried

/// Newest first.
struct MarkList {
  uint32_t head = no_mark;
  uint32_t count = 0;
  uint32_t limit = compact_from;  ///< at this count it is compacted
};

/// What compacting needs to know.
struct CompactRule {
  std::span<const PlanNode> nodes;
  bool is_waves = false;     ///< a wait for the highest wave is a wait for all; otherwise for the latest of a lane
  uint32_t now = 0;          ///< node that has no chain yet
  uint32_t seal = 0;         ///< accesses before this node order against what comes now
  uint32_t last_signal = 0;  ///< accesses since this node can only be sealed together
};

class MarkPool {
 public:
  const Mark& operator[](uint32_t index) const { return marks_[index]; }
  void push(MarkList& list, const Mark& mark);
  MarkList copy(const MarkList& list);
  void clear(MarkList& list);
  /// Moves all of `from` to the front of `to`.
  void splice(MarkList& to, MarkList& from);
  /// Joins marks of one chain that will always be waited for together; where that leaves too many, those of one
  /// chain that may not be: more order than needed is safe.
  void compact(MarkList& list, const CompactRule& rule);

  /// Calls keep(mark) for each; drops those for which it is false.
  template <class Keep>
  void filter(MarkList& list, Keep keep) {
    uint32_t* link = &list.head;
    while (*link != no_mark) {
      const uint32_t index = *link;
      if (keep(marks_[index])) {
        link = &marks_[index].next;
      } else {
        *link = marks_[index].next;
        --list.count;
        release(index);
      }
    }
  }

 private:
  uint32_t make(const Mark& mark);
  void release(uint32_t index) {
    marks_[index].next = free_;
    free_ = index;
  }
  void join_by_chain(MarkList& list, const CompactRule& rule, bool force);

  LongVector<Mark> marks_;
  uint32_t free_ = no_mark;
};

}  // namespace pianola::plan
