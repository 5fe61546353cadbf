// SPDX-License-Identifier: Apache-2.0
// The only place that knows what conflicts: which earlier nodes a node must wait for.
#include "plan/hazards.hpp"

#include <algorithm>

namespace pianola::plan {
namespace {

/// An access over more intervals than this makes them one. That bounds the work of an access; it is rare enough
/// that the order it adds between neighbours does no harm.
constexpr size_t max_span = 32;

constexpr AccessRange everything{0, false, 0, 1};

}  // namespace

Hazards::Hazards(const Plan::Data& data, const FlatList& list, Ordering ordering, PlanForm form)
    : data_(data),
      list_(list),
      is_inferred_(ordering == Ordering::inferred),
      is_waves_(form == PlanForm::waves),
      latest_collective_(data.commands.data()->channels.size()) {
  place_slots(*data.commands.data());
}

/// Slots that may alias one another share one memory. A last one stands for all that an opaque kernel may touch.
void Hazards::place_slots(const CommandBuffer::Data& recording) {
  const auto aliases = std::count_if(recording.slots.begin(), recording.slots.end(),
                                     [](const SlotInfo& slot) { return slot.may_alias; });
  memory_.reserve(recording.slots.size() + 2);
  memory_of_slot_.reserve(recording.slots.size());
  constexpr uint32_t none = UINT32_MAX;
  uint32_t shared = none;
  for (const SlotInfo& slot : recording.slots) {
    const bool is_shared = slot.may_alias && aliases > 1;
    if (is_shared && shared != none) {
      memory_of_slot_.push_back(shared);
      continue;
    }
    memory_of_slot_.push_back(static_cast<uint32_t>(memory_.size()));
    memory_.emplace_back(&pool_);
    if (!is_shared) continue;
    shared = memory_of_slot_.back();
    memory_.back().is_whole = true;
  }
  world_ = static_cast<uint32_t>(memory_.size());
  memory_.emplace_back(&pool_);
  memory_.back().is_whole = true;
}

void Hazards::cut(const Cut& cut) {
  now_ = cut.at;
  switch (cut.kind) {
    case Cut::Kind::barrier: seal_ = cut.at; break;
    case Cut::Kind::narrowed:
      for (const Range& range : cut.ranges) narrow(range);
      break;
    case Cut::Kind::signal: last_signal_ = cut.at; break;
    case Cut::Kind::wait: seal_ = std::max(seal_, list_.cuts[cut.signal].at); break;
    case Cut::Kind::discard: {
      const Range& range = cut.ranges.front();
      discard({static_cast<uint32_t>(range.slot), true, range.offset, range.offset + range.size});
      break;
    }
  }
}

void Hazards::narrow(const Range& range) {
  if (range.size == 0) return;
  const auto stamp = [this](Memory& memory, uint64_t begin, uint64_t end) {
    if (memory.newest_stamp <= seal_) memory.stamps.reset();
    const Stamps::Span span = memory.stamps.cover(begin, end, [](uint32_t value) { return value; });
    memory.stamps.join(span);
    span.first->second = now_;
    memory.newest_stamp = now_;
  };
  Memory& memory = memory_[memory_of_slot_[static_cast<uint32_t>(range.slot)]];
  if (memory.is_whole) {
    stamp(memory, everything.begin, everything.end);
  } else {
    stamp(memory, range.offset, range.offset + range.size);
  }
  // An opaque kernel may touch these bytes. Which others it conflicts with elsewhere can't be told apart.
  if (list_.has_opaque) stamp(memory_[world_], everything.begin, everything.end);
}

std::span<const uint32_t> Hazards::add(uint32_t node) {
  now_ = node;
  deps_.clear();
  conflicts_.clear();
  const CommandHeader& command = *data_.nodes[node].command;
  for_each_access(command, [this](const AccessRange& access) { touch(memory_of_slot_[access.slot], access); });
  if (list_.has_opaque) {
    AccessRange world = everything;
    world.is_write = is_opaque(command, *data_.commands.data());
    touch(world_, world);
  }
  if (command.op == Op::collective) {
    uint32_t& latest = latest_collective_[static_cast<uint32_t>(as<CollectiveCommand>(command).channel)];
    if (latest != 0) {
      wait_for(latest - 1, static_cast<uint32_t>(WorkKind::collective));
      if (is_waves_) conflicts_.push_back({{}, static_cast<uint8_t>(WorkKind::collective), true});
    }
    latest = node + 1;
  }
  return deps_;
}

void Hazards::touch(uint32_t index, const AccessRange& access) {
  Memory& memory = memory_[index];
  AccessRange within = access;
  if (memory.is_whole) {
    within.begin = everything.begin;
    within.end = everything.end;
  }
  if (is_inferred_) {
    touch_sealed(memory, within, now_);
  } else if (memory.newest_stamp <= seal_) {
    touch_sealed(memory, within, seal_);
  } else {
    touch_stamped(memory, within);
  }
}

/// Cuts the access where its seal changes.
void Hazards::touch_stamped(Memory& memory, const AccessRange& access) {
  const Stamps::Span span = memory.stamps.cover(access.begin, access.end, [](uint32_t value) { return value; });
  if (span.count > max_span) {
    uint32_t highest = 0;
    for (auto at = span.first; at != span.last; ++at) highest = std::max(highest, at->second);
    memory.stamps.join(span);
    span.first->second = highest;
    touch_sealed(memory, access, std::max(seal_, highest));
    return;
  }
  AccessRange piece = access;
  for (auto at = span.first; at != span.last;) {
    const uint32_t seal = std::max(seal_, at->second);
    do {
      ++at;
    } while (at != span.last && std::max(seal_, at->second) == seal);
    piece.end = at->first;
    touch_sealed(memory, piece, seal);
    piece.begin = piece.end;
  }
}

void Hazards::touch_sealed(Memory& memory, const AccessRange& access, uint32_t seal) {
  const Intervals::Span span =
      memory.intervals.cover(access.begin, access.end, [this](const Interval& interval) { return copy(interval); });
  bool is_empty = span.count > 1;
  for (auto at = span.first; at != span.last; ++at) {
    waited_kinds_ = 0;
    visit(at->second, access.is_write, seal);
    is_empty = is_empty && at->second.readers.count + at->second.writers.count == 0;
    if (is_waves_ && waited_kinds_ != 0) {
      const uint64_t size = memory.is_whole ? 0 : std::next(at)->first - at->first;
      conflicts_.push_back(
          {{SlotId{access.slot}, 0, at->first, size}, static_cast<uint8_t>(waited_kinds_), memory.is_whole});
    }
  }
  if (is_empty || span.count > max_span) {
    unite(memory, span, seal);
    mark(span.first->second, access.is_write, seal);
    return;
  }
  for (auto at = span.first; at != span.last; ++at) mark(at->second, access.is_write, seal);
}

/// Waits for the conflicting marks before the seal, and drops marks that need no wait any more.
void Hazards::visit(Interval& interval, bool is_write, uint32_t seal) {
  if (interval.writers.count == 0 && (!is_write || interval.readers.count == 0)) return;
  const auto raise = [seal](uint32_t& bound) {
    return [&bound, seal](const Mark& mark) {
      if (mark.first < seal) bound = std::max(bound, mark.seal);
      return true;
    };
  };
  // A sealed write has waited for everything before its own seal, a sealed read for the writes among that.
  uint32_t floor = 0;
  marks_.filter(interval.writers, raise(floor));
  uint32_t waited = floor;
  if (is_write) marks_.filter(interval.readers, raise(waited));
  const auto look = [&](const Mark& mark, uint32_t needless) {
    if (mark.last < floor) return false;
    if (mark.first < seal && mark.last >= needless) wait_for(mark.dep, mark.kinds);
    return true;
  };
  marks_.filter(interval.writers, [&](const Mark& mark) { return look(mark, waited); });
  if (is_write) marks_.filter(interval.readers, [&](const Mark& mark) { return look(mark, 0); });
  if (is_write && is_inferred_) {
    // Whatever comes later waits for this write.
    marks_.clear(interval.writers);
    marks_.clear(interval.readers);
  }
}

void Hazards::mark(Interval& interval, bool is_write, uint32_t seal) {
  MarkList& list = is_write ? interval.writers : interval.readers;
  if (list.head != no_mark && marks_[list.head].last == now_) return;  // bound twice
  if (list.count >= list.limit) marks_.compact(list, rule(seal));
  const auto kinds = static_cast<uint32_t>(data_.nodes[now_].kind);
  marks_.push(list, {now_, now_, now_, seal, kinds, no_mark});
}

void Hazards::unite(Memory& memory, const Intervals::Span& span, uint32_t seal) {
  Interval all;
  for (auto at = span.first; at != span.last; ++at) {
    for (MarkList Interval::* const list : {&Interval::readers, &Interval::writers}) {
      // What a write has waited for was said of its own interval only.
      marks_.filter(at->second.*list, [](Mark& mark) {
        mark.seal = 0;
        return true;
      });
      marks_.splice(all.*list, at->second.*list);
      if ((all.*list).count >= (all.*list).limit) marks_.compact(all.*list, rule(seal));
    }
  }
  memory.intervals.join(span);
  span.first->second = all;
}

/// A discard does no work and is no node, but order goes through it as through any write: what comes after it
/// waits for all that came before it, on all of its bytes.
void Hazards::discard(const AccessRange& access) {
  Memory& memory = memory_[memory_of_slot_[access.slot]];
  AccessRange within = access;
  if (memory.is_whole) {
    within.begin = everything.begin;
    within.end = everything.end;
  }
  const uint32_t seal = is_inferred_ ? now_ : std::max(seal_, highest_stamp(memory, within.begin, within.end));
  const Intervals::Span span =
      memory.intervals.cover(within.begin, within.end, [this](const Interval& interval) { return copy(interval); });
  if (span.count > 1) unite(memory, span, seal);
  Interval& interval = span.first->second;
  std::vector<Mark> readers;
  marks_.filter(interval.readers, [&](Mark& mark) {
    mark.seal = 0;  // no read has waited for the reads that count as writes from now on
    if (mark.first >= seal) return true;
    readers.push_back(mark);
    return false;
  });
  for (const Mark& reader : readers) marks_.push(interval.writers, reader);
  if (interval.writers.count >= interval.writers.limit) marks_.compact(interval.writers, rule(seal));
}

uint32_t Hazards::highest_stamp(Memory& memory, uint64_t begin, uint64_t end) {
  if (memory.newest_stamp <= seal_) return 0;
  const Stamps::Span span = memory.stamps.cover(begin, end, [](uint32_t value) { return value; });
  uint32_t highest = 0;
  for (auto at = span.first; at != span.last; ++at) highest = std::max(highest, at->second);
  if (span.count > max_span) {
    memory.stamps.join(span);
    span.first->second = highest;
  }
  return highest;
}

void Hazards::wait_for(uint32_t node, uint32_t kinds) {
  deps_.push_back(node);
  waited_kinds_ |= kinds;
}

}  // namespace pianola::plan
