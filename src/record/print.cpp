// SPDX-License-Identifier: Apache-2.0
#include "record/print.hpp"

#include <fmt/format.h>

#include <cstring>

namespace pianola {

namespace {

std::string_view access_name(uint32_t tag) {
  switch (static_cast<Access>(tag)) {
    case Access::in: return "in";
    case Access::out: return "out";
    case Access::inout: return "inout";
  }
  return "?";
}

std::string hex(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) text += fmt::format("{:02x}", static_cast<uint32_t>(byte));
  return text;
}

std::string print_groups(const DispatchCommand& dispatch, const CommandBuffer::Data& commands) {
  if (dispatch.is_indirect()) return "groups from " + print(dispatch.counts(), commands);
  std::string text = "groups";
  for (size_t i = 0; i < 3; ++i) {
    text += i == 0 ? ' ' : 'x';
    if ((dispatch.header.flags & DispatchCommand::group_is_constant[i]) != 0) {
      text += '$' + commands.constants[dispatch.groups[i]].name;
    } else {
      text += fmt::format("{}", dispatch.groups[i]);
    }
  }
  return text;
}

std::string print_dispatch(const DispatchCommand& dispatch, const CommandBuffer::Data& commands) {
  const KernelInfo& kernel = commands.libraries[dispatch.library].kernels()[dispatch.entry];
  std::string text =
      fmt::format("{} {} {}", to_string(dispatch.header.op), kernel.name, print_groups(dispatch, commands));
  for (const Range& binding : dispatch.bindings()) {
    text += fmt::format(", {} {}", access_name(binding.tag), print(binding, commands));
  }
  for (const Range& use : dispatch.uses()) {
    text += fmt::format(", uses {} {}", access_name(use.tag), print(use, commands));
  }
  if (dispatch.constant_bytes > 0) text += ", constants " + hex(dispatch.constants());
  for (const NamedConstant& named : dispatch.named()) {
    text += fmt::format(", ${} at {}", commands.constants[static_cast<uint32_t>(named.constant)].name, named.offset);
  }
  return text;
}

std::string print_execute(const Execute& execute, const CommandBuffer::Data& commands) {
  const CommandBuffer& inner = commands.nested[execute.nested];
  std::string text = fmt::format("execute #{} of {} commands", execute.nested, inner.command_count());
  for (size_t i = 0; i < execute.slots().size(); ++i) {
    text += fmt::format(", {} = {}", inner.slots()[i].name, print(execute.slots()[i], commands));
  }
  return text;
}

std::string print_barrier(const Barrier& barrier, const CommandBuffer::Data& commands) {
  if ((barrier.header.flags & Barrier::narrowed) == 0) return "barrier";
  std::string text = "barrier on";
  for (const Range& range : barrier.ranges()) text += ' ' + print(range, commands);
  return barrier.ranges().empty() ? text + " nothing" : text;
}

}  // namespace

std::string_view to_string(Op op) {
  switch (op) {
    case Op::fill: return "fill";
    case Op::update: return "update";
    case Op::copy: return "copy";
    case Op::barrier: return "barrier";
    case Op::dispatch: return "dispatch";
    case Op::dispatch_indirect: return "dispatch_indirect";
    case Op::collective: return "collective";
    case Op::execute: return "execute";
    case Op::signal_event: return "signal_event";
    case Op::wait_event: return "wait_event";
    case Op::reset_event: return "reset_event";
    case Op::discard: return "discard";
    case Op::begin_group: return "begin_debug_group";
    case Op::end_group: return "end_debug_group";
  }
  return "unknown";
}

std::string print(const Range& range, const CommandBuffer::Data& commands) {
  return fmt::format("{}[{}, {})", commands.slots[static_cast<uint32_t>(range.slot)].name, range.offset,
                     range.offset + range.size);
}

std::string print(const CommandHeader& command, const CommandBuffer::Data& commands) {
  switch (command.op) {
    case Op::fill: {
      const auto& fill = as<Fill>(command);
      return fmt::format("fill {} with {}", print(fill.destination, commands),
                         hex(std::span(fill.pattern).first(fill.destination.tag)));
    }
    case Op::update: return "update " + print(as<Update>(command).destination, commands);
    case Op::copy: {
      const auto& copy = as<Copy>(command);
      return fmt::format("copy {} from {}", print(copy.destination, commands), print(copy.source, commands));
    }
    case Op::barrier: return print_barrier(as<Barrier>(command), commands);
    case Op::dispatch:
    case Op::dispatch_indirect: return print_dispatch(as<DispatchCommand>(command), commands);
    case Op::collective: {
      const auto& collective = as<CollectiveCommand>(command);
      return fmt::format("collective on {}, {} elements, {} to {}",
                         commands.channels[static_cast<uint32_t>(collective.channel)], collective.count,
                         print(collective.send, commands), print(collective.receive, commands));
    }
    case Op::execute: return print_execute(as<Execute>(command), commands);
    case Op::signal_event:
    case Op::wait_event:
    case Op::reset_event:
      return fmt::format("{} {}", to_string(command.op), static_cast<uint32_t>(as<EventCommand>(command).event));
    case Op::discard: return "discard " + print(as<Discard>(command).range, commands);
    case Op::begin_group: return fmt::format("begin_debug_group '{}'", as<BeginGroup>(command).label());
    case Op::end_group: return "end_debug_group";
  }
  return "unknown";
}

std::string CommandBuffer::to_string() const {
  std::string text;
  if (!data_) return text;
  uint32_t index = 0;
  for (const CommandHeader& command : *data_) text += fmt::format("{:>4}  {}\n", index++, print(command, *data_));
  return text;
}

}  // namespace pianola
