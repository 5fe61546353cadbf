// SPDX-License-Identifier: Apache-2.0
// Who touched an interval: short lists of marks, kept in one pool.
#include "plan/marks.hpp"

#include <algorithm>
#include <array>

namespace pianola::plan {
namespace {

constexpr size_t max_chains = 32;

}  // namespace

uint32_t MarkPool::make(const Mark& mark) {
  if (free_ == no_mark) {
    marks_.push_back(mark);
    return static_cast<uint32_t>(marks_.size() - 1);
  }
  const uint32_t index = free_;
  free_ = marks_[index].next;
  marks_[index] = mark;
  return index;
}

void MarkPool::push(MarkList& list, const Mark& mark) {
  const uint32_t index = make(mark);
  marks_[index].next = list.head;
  list.head = index;
  ++list.count;
}

MarkList MarkPool::copy(const MarkList& list) {
  MarkList result{no_mark, list.count, list.limit};
  uint32_t last = no_mark;
  for (uint32_t from = list.head; from != no_mark; from = marks_[from].next) {
    const Mark mark = marks_[from];  // make() may move the pool
    const uint32_t index = make(mark);
    (last == no_mark ? result.head : marks_[last].next) = index;
    last = index;
  }
  if (last != no_mark) marks_[last].next = no_mark;
  return result;
}

void MarkPool::clear(MarkList& list) {
  filter(list, [](const Mark&) { return false; });
  list = {};
}

void MarkPool::splice(MarkList& to, MarkList& from) {
  if (from.head == no_mark) return;
  uint32_t last = from.head;
  while (marks_[last].next != no_mark) last = marks_[last].next;
  marks_[last].next = to.head;
  to.head = from.head;
  to.count += from.count;
  from = {};
}

void MarkPool::compact(MarkList& list, const CompactRule& rule) {
  join_by_chain(list, rule, false);
  if (list.count > 4 * max_chains) join_by_chain(list, rule, true);
  list.limit = std::max(compact_from, 2 * list.count);
}

void MarkPool::join_by_chain(MarkList& list, const CompactRule& rule, bool force) {
  // For each chain: the mark that stands for those before the seal, and for those since the last signal.
  std::array<std::array<uint32_t, max_chains>, 2> found;
  for (auto& row : found) row.fill(no_mark);
  filter(list, [&](Mark& mark) {
    if (mark.last >= rule.now) return true;
    const bool is_sealed = mark.first < rule.seal;
    if (!is_sealed && mark.first < rule.last_signal && !force) return true;
    const uint32_t chain = rule.is_waves ? 0 : rule.nodes[mark.dep].chain;
    uint32_t& index = found[is_sealed ? 0 : 1][chain];
    if (index == no_mark) {
      index = static_cast<uint32_t>(&mark - marks_.data());
      return true;
    }
    Mark& into = marks_[index];
    const bool is_later = rule.is_waves ? rule.nodes[mark.dep].chain > rule.nodes[into.dep].chain : mark.dep > into.dep;
    if (is_later) into.dep = mark.dep;
    into.first = std::min(into.first, mark.first);
    into.last = std::max(into.last, mark.last);
    into.seal = std::max(into.seal, mark.seal);
    into.kinds |= mark.kinds;
    return false;
  });
}

}  // namespace pianola::plan
