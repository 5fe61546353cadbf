// SPDX-License-Identifier: Apache-2.0
// Joins neighbouring fills, updates and copies into one where the result is the same in any order.
#include "plan/merge.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace pianola::plan {
namespace {

uint64_t end_of(const Range& range) {
  return range.offset + range.size;
}

/// How the next command's range lies to the run's.
enum class Side : uint8_t { none, before, after };

Side side_of(const Range& run, const Range& next) {
  if (run.slot != next.slot) return Side::none;
  if (end_of(run) == next.offset) return Side::after;
  return end_of(next) == run.offset ? Side::before : Side::none;
}

/// Takes one run of commands that can be joined, member by member.
class Run {
 public:
  explicit Run(const std::vector<SlotInfo>& slots) : slots_(slots) {}

  void start(const CommandHeader& command) {
    op_ = command.op;
    members_ = 1;
    if (op_ == Op::fill) destination_ = as<Fill>(command).destination;
    if (op_ == Op::update) {
      destination_ = as<Update>(command).destination;
      pieces_.assign(1, &as<Update>(command));
    }
    if (op_ == Op::copy) {
      destination_ = as<Copy>(command).destination;
      source_ = as<Copy>(command).source;
    }
    first_ = &command;
  }

  /// True if the command was joined to the run.
  bool take(const CommandHeader& command) {
    if (command.op != op_) return false;
    bool taken = false;
    if (op_ == Op::fill) taken = take_fill(as<Fill>(command));
    if (op_ == Op::update) taken = take_update(as<Update>(command));
    if (op_ == Op::copy) taken = take_copy(as<Copy>(command));
    members_ += taken ? 1 : 0;
    return taken;
  }

  /// The run as one command.
  const CommandHeader* finish(Pool& records) {
    if (members_ == 1) return first_;
    if (op_ == Op::fill) return finish_fill(records);
    return op_ == Op::update ? finish_update(records) : finish_copy(records);
  }

 private:
  /// The same bytes result from either order where pattern and phase agree.
  bool take_fill(const Fill& next) {
    const Range& to = next.destination;
    const uint32_t period = destination_.tag;
    if (to.slot != destination_.slot || to.tag != period) return false;
    if (std::memcmp(next.pattern.data(), as<Fill>(*first_).pattern.data(), period) != 0) return false;
    if (to.offset > end_of(destination_) || destination_.offset > end_of(to)) return false;
    const uint64_t low = std::min(to.offset, destination_.offset);
    if ((std::max(to.offset, destination_.offset) - low) % period != 0) return false;
    destination_.size = std::max(end_of(to), end_of(destination_)) - low;
    destination_.offset = low;
    return true;
  }

  bool take_update(const Update& next) {
    const Side side = side_of(destination_, next.destination);
    if (side == Side::none) return false;
    destination_.offset = std::min(destination_.offset, next.destination.offset);
    destination_.size += next.destination.size;
    pieces_.push_back(&next);
    return true;
  }

  /// Source and destination must not overlap once joined, or one part could read what another wrote.
  bool take_copy(const Copy& next) {
    const Side side = side_of(destination_, next.destination);
    if (side == Side::none || side != side_of(source_, next.source)) return false;
    Range to = destination_;
    Range from = source_;
    to.offset = std::min(to.offset, next.destination.offset);
    from.offset = std::min(from.offset, next.source.offset);
    to.size += next.destination.size;
    from.size += next.source.size;
    if (to.slot == from.slot) {
      if (to.offset < end_of(from) && from.offset < end_of(to)) return false;
    } else if (may_alias(to.slot) && may_alias(from.slot)) {
      return false;
    }
    destination_ = to;
    source_ = from;
    return true;
  }

  bool may_alias(SlotId slot) const { return slots_[static_cast<uint32_t>(slot)].may_alias; }

  template <class T>
  static T* make(Pool& records, const T& value, size_t size) {
    auto* made = new (records.allocate(size, 8)) T(value);
    made->header.words = static_cast<uint32_t>(size / 8);
    return made;
  }

  const CommandHeader* finish_fill(Pool& records) const {
    Fill* fill = make(records, as<Fill>(*first_), sizeof(Fill));
    fill->destination = destination_;
    // The range may now start before the first member's; the phase is the same, so the pattern is too.
    return &fill->header;
  }

  const CommandHeader* finish_copy(Pool& records) const {
    Copy* copy = make(records, as<Copy>(*first_), sizeof(Copy));
    copy->destination = destination_;
    copy->source = source_;
    return &copy->header;
  }

  const CommandHeader* finish_update(Pool& records) {
    const auto bytes = static_cast<size_t>(destination_.size);
    Update* update = make(records, as<Update>(*first_), sizeof(Update) + (bytes + 7) / 8 * 8);
    update->destination = destination_;
    auto* to = reinterpret_cast<std::byte*>(update + 1);
    for (const Update* piece : pieces_) {
      const auto at = static_cast<size_t>(piece->destination.offset - destination_.offset);
      std::memcpy(to + at, piece->bytes().data(), piece->bytes().size());
    }
    return &update->header;
  }

  const std::vector<SlotInfo>& slots_;
  Op op_ = Op::barrier;
  size_t members_ = 0;
  const CommandHeader* first_ = nullptr;
  Range destination_;
  Range source_;
  std::vector<const Update*> pieces_;
};

bool can_merge(Op op) {
  return op == Op::fill || op == Op::update || op == Op::copy;
}

}  // namespace

uint32_t merge(FlatList& list, const CommandBuffer::Data& recording, Pool& records) {
  Run run(recording.slots);
  LongVector<PlanNode>& nodes = list.nodes;
  const size_t count = nodes.size();
  size_t kept = 0;  // nodes written so far
  size_t cut = 0;
  bool open = false;  // the node before may still take members
  for (size_t i = 0; i < count; ++i) {
    const bool is_cut = cut < list.cuts.size() && list.cuts[cut].at == i;
    const PlanNode node = nodes[i];
    if (open && !is_cut && node.group == nodes[kept - 1].group && run.take(*node.command)) continue;
    if (open) nodes[kept - 1].command = run.finish(records);
    for (; cut < list.cuts.size() && list.cuts[cut].at == i; ++cut) list.cuts[cut].at = static_cast<uint32_t>(kept);
    nodes[kept++] = node;
    open = can_merge(node.command->op);
    if (open) run.start(*node.command);
  }
  if (open) nodes[kept - 1].command = run.finish(records);
  for (; cut < list.cuts.size(); ++cut) list.cuts[cut].at = static_cast<uint32_t>(kept);
  nodes.resize(kept);
  return static_cast<uint32_t>(count - kept);
}

}  // namespace pianola::plan
