// SPDX-License-Identifier: Apache-2.0
#include "reference_list.hpp"

#include <algorithm>
#include <cstring>

namespace pianola::reference {
namespace {

/// One command buffer being read, and what its slots and constants are outside.
struct Frame {
  const CommandBuffer::Data* data = nullptr;
  std::vector<std::pair<uint32_t, uint64_t>> slots;  ///< outermost slot, offset in it
  struct Constant {
    std::optional<uint32_t> outer;
    std::vector<std::byte> value;
  };
  std::vector<Constant> constants;
};

Frame outermost(const CommandBuffer::Data& data) {
  Frame frame{.data = &data, .slots = {}, .constants = {}};
  for (uint32_t i = 0; i < data.slots.size(); ++i) frame.slots.emplace_back(i, 0);
  for (uint32_t i = 0; i < data.constants.size(); ++i) frame.constants.push_back({i, {}});
  return frame;
}

Frame enter(const Frame& outer, const Execute& execute) {
  Frame frame{.data = outer.data->nested[execute.nested].data().get(), .slots = {}, .constants = {}};
  for (const Range& range : execute.slots()) {
    const auto& [slot, offset] = outer.slots[static_cast<uint32_t>(range.slot)];
    frame.slots.emplace_back(slot, offset + range.offset);
  }
  for (size_t i = 0; i < execute.constants().size(); ++i) {
    const ExecuteConstant& constant = execute.constants()[i];
    if (constant.outer != ExecuteConstant::by_value) {
      frame.constants.push_back(outer.constants[constant.outer]);
    } else {
      const auto bytes = execute.values().subspan(constant.offset, frame.data->constants[i].size);
      frame.constants.push_back({std::nullopt, {bytes.begin(), bytes.end()}});
    }
  }
  return frame;
}

Access access_of(const Frame& frame, const Range& range, bool writes) {
  const auto& [slot, offset] = frame.slots[static_cast<uint32_t>(range.slot)];
  return {slot, offset + range.offset, offset + range.offset + range.size, writes};
}

void read_dispatch(const Frame& frame, const DispatchCommand& command, Work& work) {
  const KernelInfo& kernel = frame.data->libraries[command.library].kernels()[command.entry];
  work.kernel = kernel.name;
  work.opaque = kernel.opaque;
  if (command.is_indirect()) work.accesses.push_back(access_of(frame, command.counts(), false));
  for (const Range& range : command.bindings()) work.accesses.push_back(access_of(frame, range, (range.tag & 2U) != 0));
  for (const Range& range : command.uses()) work.accesses.push_back(access_of(frame, range, (range.tag & 2U) != 0));
  work.payload.assign(command.constants().begin(), command.constants().end());
  for (const NamedConstant& named : command.named()) {
    const Frame::Constant& constant = frame.constants[static_cast<uint32_t>(named.constant)];
    if (constant.outer) {
      work.named.emplace_back(named.offset, *constant.outer);
      std::fill_n(work.payload.begin() + named.offset, named.size, std::byte{0});
    } else {
      std::copy(constant.value.begin(), constant.value.end(), work.payload.begin() + named.offset);
    }
  }
  for (size_t i = 0; i < 3 && !command.is_indirect(); ++i) {
    Number& number = work.groups[i];
    number.value = command.groups[i];
    if ((command.header.flags & (1U << i)) == 0) continue;
    const Frame::Constant& constant = frame.constants[command.groups[i]];
    number = {.constant = constant.outer, .value = 0};
    if (!constant.outer) std::memcpy(&number.value, constant.value.data(), 4);
  }
}

Work read_work(const Frame& frame, const CommandHeader& command) {
  Work work{.op = command.op};
  switch (command.op) {
    case Op::fill: {
      const auto& fill = as<Fill>(command);
      work.accesses = {access_of(frame, fill.destination, true)};
      work.payload.assign(fill.pattern.begin(), fill.pattern.begin() + fill.destination.tag);
      break;
    }
    case Op::update: {
      const auto& update = as<Update>(command);
      work.accesses = {access_of(frame, update.destination, true)};
      work.payload.assign(update.bytes().begin(), update.bytes().end());
      break;
    }
    case Op::copy:
      work.accesses = {access_of(frame, as<Copy>(command).destination, true),
                       access_of(frame, as<Copy>(command).source, false)};
      break;
    case Op::discard: work.accesses = {access_of(frame, as<Discard>(command).range, true)}; break;
    case Op::collective: {
      const auto& collective = as<CollectiveCommand>(command);
      work.accesses = {access_of(frame, collective.receive, true), access_of(frame, collective.send, false)};
      work.channel = frame.data->channels[static_cast<uint32_t>(collective.channel)];
      break;
    }
    case Op::dispatch:
    case Op::dispatch_indirect: read_dispatch(frame, as<DispatchCommand>(command), work); break;
    default: break;
  }
  return work;
}

void read_into(const Frame& frame, std::optional<uint32_t> source, List& list) {
  std::vector<size_t> signals(frame.data->event_count);
  uint32_t index = 0;
  for (const CommandHeader& command : *frame.data) {
    const uint32_t top = source.value_or(index++);
    switch (command.op) {
      case Op::execute: read_into(enter(frame, as<Execute>(command)), top, list); break;
      case Op::barrier: {
        const auto& barrier = as<Barrier>(command);
        const bool narrowed = (command.flags & Barrier::narrowed) != 0;
        Sync sync{.kind = narrowed ? Sync::Kind::narrowed : Sync::Kind::whole, .position = list.steps.size()};
        for (const Range& range : barrier.ranges()) sync.ranges.push_back(access_of(frame, range, true));
        list.syncs.push_back(sync);
        break;
      }
      case Op::signal_event: signals[static_cast<uint32_t>(as<EventCommand>(command).event)] = list.steps.size(); break;
      case Op::wait_event: {
        const size_t signal = signals[static_cast<uint32_t>(as<EventCommand>(command).event)];
        list.syncs.push_back({.kind = Sync::Kind::wait, .position = list.steps.size(), .signal = signal, .ranges = {}});
        break;
      }
      case Op::reset_event:
      case Op::begin_group:
      case Op::end_group: break;
      default: list.steps.push_back({read_work(frame, command), top});
    }
  }
}

bool overlap(const Access& a, const Access& b) {
  return a.slot == b.slot && std::max(a.begin, b.begin) < std::min(a.end, b.end);
}

/// What a command may touch of a range.
std::vector<Access> touched(const Work& work, const Access& range) {
  if (work.opaque) return {{range.slot, range.begin, range.end, true}};
  std::vector<Access> result;
  for (const Access& access : work.accesses) {
    if (!overlap(access, range)) continue;
    result.push_back({range.slot, std::max(access.begin, range.begin), std::min(access.end, range.end), access.writes});
  }
  return result;
}

/// The bytes that both touch and one of them writes.
std::vector<Access> conflicts(std::span<const Access> a, std::span<const Access> b) {
  std::vector<Access> result;
  for (const Access& x : a) {
    for (const Access& y : b) {
      if (!(x.writes || y.writes) || !overlap(x, y)) continue;
      result.push_back({x.slot, std::max(x.begin, y.begin), std::min(x.end, y.end), true});
    }
  }
  return result;
}

std::vector<Access> conflicts_on(const Work& a, const Work& b, const Access& range) {
  if (range.begin == range.end) return {};
  return conflicts(touched(a, range), touched(b, range));
}

/// Between slots that lie over one another.
bool conflict_by_alias(const List& list, const Work& a, const Work& b) {
  for (const Access& x : a.accesses) {
    for (const Access& y : b.accesses) {
      if (!(x.writes || y.writes) || x.begin == x.end || y.begin == y.end) continue;
      if (x.slot != y.slot && list.may_alias[x.slot] && list.may_alias[y.slot]) return true;
    }
  }
  return false;
}

bool orders(const Sync& sync, const Work& first, size_t a, const Work& second, size_t b) {
  if (b < sync.position) return false;
  if (sync.kind == Sync::Kind::wait) return a < sync.signal;
  if (a >= sync.position) return false;
  return sync.kind == Sync::Kind::whole ||
         std::any_of(sync.ranges.begin(), sync.ranges.end(),
                     [&](const Access& range) { return !conflicts_on(first, second, range).empty(); });
}

}  // namespace

bool Work::does_nothing() const {
  if (op == Op::discard) return true;
  if (op == Op::dispatch) {
    return std::any_of(groups.begin(), groups.end(), [](const Number& n) { return !n.constant && n.value == 0; });
  }
  if (op == Op::dispatch_indirect || op == Op::collective) return false;
  return accesses.front().begin == accesses.front().end;
}

List read_list(const CommandBuffer& commands) {
  List list;
  for (const SlotInfo& slot : commands.slots()) {
    list.may_alias.push_back(slot.may_alias);
    list.places.push_back({.memory = list.places.size(), .size = slot.size});
  }
  read_into(outermost(*commands.data()), std::nullopt, list);
  return list;
}

Work read_node(const CommandBuffer& commands, const CommandHeader& command) {
  return read_work(outermost(*commands.data()), command);
}

bool conflict(const List& list, const Work& a, const Work& b) {
  return a.opaque || b.opaque || !conflicts(a.accesses, b.accesses).empty() || conflict_by_alias(list, a, b);
}

bool must_precede(const List& list, Ordering ordering, size_t a, size_t b) {
  const Work& first = list.steps[a].work;
  const Work& second = list.steps[b].work;
  if (first.does_nothing() || second.does_nothing()) return false;
  if (ordering == Ordering::serial) return true;
  if (first.channel && first.channel == second.channel) return true;
  if (!conflict(list, first, second)) return false;
  if (ordering == Ordering::inferred) return true;
  return std::any_of(list.syncs.begin(), list.syncs.end(),
                     [&](const Sync& sync) { return orders(sync, first, a, second, b); });
}

NeededOrder needed_order(const List& list, Ordering ordering, size_t a, size_t b) {
  const Work& first = list.steps[a].work;
  const Work& second = list.steps[b].work;
  NeededOrder needed{.all = first.channel && first.channel == second.channel, .ranges = {}};
  const auto add = [&](const std::vector<Access>& ranges) {
    needed.ranges.insert(needed.ranges.end(), ranges.begin(), ranges.end());
  };
  const auto add_every_conflict = [&] {
    needed.all = needed.all || first.opaque || second.opaque || conflict_by_alias(list, first, second);
    add(conflicts(first.accesses, second.accesses));
  };
  if (ordering == Ordering::inferred) {
    add_every_conflict();
    return needed;
  }
  for (const Sync& sync : list.syncs) {
    if (!orders(sync, first, a, second, b)) continue;
    if (sync.kind != Sync::Kind::narrowed) {
      add_every_conflict();
      continue;
    }
    for (const Access& range : sync.ranges) add(conflicts_on(first, second, range));
  }
  return needed;
}

}  // namespace pianola::reference
