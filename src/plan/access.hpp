// SPDX-License-Identifier: Apache-2.0
// Which bytes a command reads and writes.
#pragma once

#include <cstdint>

#include "record/commands.hpp"

namespace pianola::plan {

/// Bytes [begin, end) of a slot. Reading and writing counts as writing.
struct AccessRange {
  uint32_t slot = 0;
  bool is_write = false;
  uint64_t begin = 0;
  uint64_t end = 0;
};

/// Calls visit(AccessRange) for every range of at least a byte that the command touches.
template <class Visit>
void for_each_access(const CommandHeader& command, Visit visit) {
  const auto touch = [&visit](const Range& range, bool is_write) {
    if (range.size == 0) return;
    visit(AccessRange{static_cast<uint32_t>(range.slot), is_write, range.offset, range.offset + range.size});
  };
  switch (command.op) {
    case Op::fill: touch(as<Fill>(command).destination, true); break;
    case Op::update: touch(as<Update>(command).destination, true); break;
    case Op::discard: touch(as<Discard>(command).range, true); break;
    case Op::copy:
      touch(as<Copy>(command).destination, true);
      touch(as<Copy>(command).source, false);
      break;
    case Op::dispatch:
    case Op::dispatch_indirect: {
      const auto& dispatch = as<DispatchCommand>(command);
      if (dispatch.is_indirect()) touch(dispatch.counts(), false);
      for (const Range& range : dispatch.bindings()) touch(range, writes(static_cast<Access>(range.tag)));
      for (const Range& range : dispatch.uses()) touch(range, writes(static_cast<Access>(range.tag)));
      break;
    }
    case Op::collective:
      touch(as<CollectiveCommand>(command).send, false);
      touch(as<CollectiveCommand>(command).receive, true);
      break;
    case Op::barrier:
    case Op::execute:
    case Op::signal_event:
    case Op::wait_event:
    case Op::reset_event:
    case Op::begin_group:
    case Op::end_group: break;
  }
}

}  // namespace pianola::plan
