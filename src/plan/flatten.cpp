// SPDX-License-Identifier: Apache-2.0
// The recorded list with nested command buffers inlined: work as nodes, and everything else between them as cuts.
#include "plan/flatten.hpp"

#include <fmt/format.h>

#include <optional>

#include "plan/remap.hpp"

namespace pianola::plan {
namespace {

constexpr uint32_t max_commands = uint32_t{1} << 30;

bool is_zero_dispatch(const DispatchCommand& dispatch) {
  if (dispatch.is_indirect()) return false;
  for (size_t i = 0; i < 3; ++i) {
    if ((dispatch.header.flags & DispatchCommand::group_is_constant[i]) == 0 && dispatch.groups[i] == 0) return true;
  }
  return false;
}

/// A command that does nothing whatever memory it is bound to.
bool is_zero(const CommandHeader& command) {
  switch (command.op) {
    case Op::fill: return as<Fill>(command).destination.size == 0;
    case Op::update: return as<Update>(command).destination.size == 0;
    case Op::copy: return as<Copy>(command).destination.size == 0;
    case Op::discard: return as<Discard>(command).range.size == 0;
    case Op::collective: return as<CollectiveCommand>(command).count == 0;
    case Op::dispatch:
    case Op::dispatch_indirect: return is_zero_dispatch(as<DispatchCommand>(command));
    case Op::barrier:
    case Op::execute:
    case Op::signal_event:
    case Op::wait_event:
    case Op::reset_event:
    case Op::begin_group:
    case Op::end_group: return false;
  }
  return false;
}

WorkKind kind_of(Op op) {
  if (op == Op::collective) return WorkKind::collective;
  return op == Op::dispatch || op == Op::dispatch_indirect ? WorkKind::compute : WorkKind::transfer;
}

/// One command buffer being walked; a stack of them stands in for recursion, so that depth costs no stack.
struct Frame {
  const CommandBuffer::Data* data;
  CommandIterator at;
  std::optional<Mapping> mapping;  ///< none for the outermost command buffer
  std::vector<uint32_t> signals;   ///< for each event, the cut of its latest signal
};

class Flattener {
 public:
  Flattener(const CommandBuffer::Data& root, Pool& records) : root_(root), records_(records) {}

  Result<FlatList> run() {
    list_.nodes.reserve(root_.count);
    list_.cuts.reserve(root_.barrier_count);
    list_.groups.emplace_back();
    push(root_, std::nullopt);
    uint32_t visited = 0;
    while (!stack_.empty()) {
      Frame& frame = stack_.back();
      if (frame.at == frame.data->end()) {
        stack_.pop_back();
        continue;
      }
      if (++visited > max_commands) {
        return Error{Errc::limit_exceeded, fmt::format("more than {} commands after inlining", max_commands)};
      }
      const CommandHeader& command = *frame.at;
      ++frame.at;
      if (stack_.size() == 1) source_ = next_source_++;
      visit(frame, command);
    }
    return std::move(list_);
  }

 private:
  void push(const CommandBuffer::Data& data, std::optional<Mapping> mapping) {
    stack_.push_back({&data, data.begin(), std::move(mapping), std::vector<uint32_t>(data.event_count)});
  }

  uint32_t now() const { return static_cast<uint32_t>(list_.nodes.size()); }

  const CommandHeader& mapped(const Frame& frame, const CommandHeader& command) {
    return frame.mapping ? *frame.mapping->copy(command, records_) : command;
  }

  void visit(Frame& frame, const CommandHeader& command) {
    switch (command.op) {
      case Op::execute: return execute(frame, as<Execute>(command));
      case Op::fill:
      case Op::update:
      case Op::copy:
      case Op::dispatch:
      case Op::dispatch_indirect:
      case Op::collective: add_node(mapped(frame, command)); break;
      case Op::barrier: add_barrier(as<Barrier>(mapped(frame, command))); break;
      case Op::signal_event:
        frame.signals[static_cast<uint32_t>(as<EventCommand>(command).event)] =
            static_cast<uint32_t>(list_.cuts.size());
        list_.cuts.push_back({Cut::Kind::signal, now(), 0, {}});
        break;
      case Op::wait_event:
        ++list_.barriers;
        list_.cuts.push_back(
            {Cut::Kind::wait, now(), frame.signals[static_cast<uint32_t>(as<EventCommand>(command).event)], {}});
        break;
      case Op::reset_event: break;
      case Op::discard: add_discard(mapped(frame, command)); break;
      case Op::begin_group: {
        const auto& group = as<BeginGroup>(command);
        list_.groups.push_back({group_, group.rgba, std::string(group.label())});
        group_ = static_cast<uint32_t>(list_.groups.size() - 1);
        break;
      }
      case Op::end_group: group_ = list_.groups[group_].parent; break;
    }
    ++list_.commands;
  }

  void execute(const Frame& frame, const Execute& command) {
    const CommandBuffer::Data& inner = *frame.data->nested[command.nested].data();
    push(inner, Mapping(root_, inner, command, frame.mapping ? &*frame.mapping : nullptr));
  }

  void add_node(const CommandHeader& command) {
    if (is_zero(command)) {
      ++list_.elided;
      return;
    }
    list_.has_opaque = list_.has_opaque || is_opaque(command, root_);
    list_.nodes.push_back(
        {.command = &command, .source = source_, .chain = 0, .group = group_, .kind = kind_of(command.op)});
  }

  void add_barrier(const Barrier& barrier) {
    ++list_.barriers;
    const bool narrowed = (barrier.header.flags & Barrier::narrowed) != 0;
    list_.cuts.push_back({narrowed ? Cut::Kind::narrowed : Cut::Kind::barrier, now(), 0, barrier.ranges()});
  }

  void add_discard(const CommandHeader& command) {
    if (is_zero(command)) {
      ++list_.elided;
      return;
    }
    list_.cuts.push_back({Cut::Kind::discard, now(), 0, {&as<Discard>(command).range, 1}});
  }

  const CommandBuffer::Data& root_;
  Pool& records_;
  FlatList list_;
  std::vector<Frame> stack_;
  uint32_t source_ = 0;  ///< index of the top-level command being visited
  uint32_t next_source_ = 0;
  uint32_t group_ = 0;
};

}  // namespace

bool is_opaque(const CommandHeader& command, const CommandBuffer::Data& recording) {
  if (command.op != Op::dispatch && command.op != Op::dispatch_indirect) return false;
  const auto& dispatch = as<DispatchCommand>(command);
  return recording.libraries[dispatch.library].kernels()[dispatch.entry].opaque;
}

Result<FlatList> flatten(const CommandBuffer::Data& recording, Pool& records) {
  return Flattener(recording, records).run();
}

}  // namespace pianola::plan
