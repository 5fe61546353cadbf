// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/lower.hpp"

#include <algorithm>
#include <optional>

#include "backend/cpu/segments.hpp"

namespace pianola::backend::cpu {
namespace {

/// Work that takes longer than this is cut, into parts of at least `part_us`. Parts cost little, and a kernel may
/// take far longer than its number of threads tells.
constexpr double cut_above_us = 15;
constexpr double part_us = 5;

constexpr double bytes_per_us = 8000;
constexpr double thread_us = 0.0015;        // one thread of a workgroup, where the dispatch states no time
constexpr double unknown_dispatch_us = 20;  // counts that are only known when it runs

uint64_t group_count(const DispatchCommand& dispatch) {
  return uint64_t{dispatch.groups[0]} * dispatch.groups[1] * dispatch.groups[2];
}

bool has_known_counts(const DispatchCommand& dispatch) {
  constexpr uint8_t from_constants = DispatchCommand::group_is_constant[0] | DispatchCommand::group_is_constant[1] |
                                     DispatchCommand::group_is_constant[2];
  return !dispatch.is_indirect() && (dispatch.header.flags & from_constants) == 0;
}

const KernelInfo& kernel_of(const CommandBuffer::Data& commands, const DispatchCommand& dispatch) {
  return commands.libraries[dispatch.library].kernels()[dispatch.entry];
}

uint64_t transfer_size(const CommandHeader& command) {
  switch (command.op) {
    case Op::fill: return as<Fill>(command).destination.size;
    case Op::update: return as<Update>(command).destination.size;
    case Op::copy: return as<Copy>(command).destination.size;
    default: return 0;
  }
}

double cost_of(const CommandBuffer::Data& commands, const CommandHeader& command) {
  if (command.op != Op::dispatch && command.op != Op::dispatch_indirect) {
    return 0.01 + static_cast<double>(transfer_size(command)) / bytes_per_us;
  }
  const auto& dispatch = as<DispatchCommand>(command);
  if (dispatch.expected_us > 0) return static_cast<double>(dispatch.expected_us);
  if (!has_known_counts(dispatch)) return unknown_dispatch_us;
  const auto& workgroup = kernel_of(commands, dispatch).workgroup;
  const uint64_t threads = uint64_t{workgroup[0]} * workgroup[1] * workgroup[2];
  return 0.05 + static_cast<double>(group_count(dispatch)) * static_cast<double>(threads) * thread_us;
}

uint32_t parts_of(const CommandHeader& command, double cost, uint32_t threads) {
  if (threads == 1 || cost < cut_above_us) return 1;
  uint64_t most = std::min<uint64_t>(threads, static_cast<uint64_t>(cost / part_us));
  if (command.op == Op::dispatch || command.op == Op::dispatch_indirect) {
    const auto& dispatch = as<DispatchCommand>(command);
    if (has_known_counts(dispatch)) most = std::min(most, group_count(dispatch));
  }
  return static_cast<uint32_t>(std::clamp<uint64_t>(most, 1, UINT16_MAX));
}

/// Makes the tasks of nodes; remembers the kernels it loads.
class Lowering {
 public:
  Lowering(Program& program, KernelCache& kernels)
      : program_(program), commands_(*program.plan.data()->commands.data()), kernels_(kernels) {
    program_.libraries.resize(commands_.libraries.size());
    functions_.resize(commands_.libraries.size());
  }

  /// The node as a whole. Nothing where it does nothing.
  Result<std::optional<Task>> task_of(const PlanNode& node) {
    switch (node.command->op) {
      case Op::fill: return fill(as<Fill>(*node.command));
      case Op::update: return update(as<Update>(*node.command));
      case Op::copy: return copy(as<Copy>(*node.command));
      case Op::dispatch:
      case Op::dispatch_indirect: return dispatch(node);
      case Op::collective:
        return Error{
            .code = Errc::unsupported, .message = "the CPU device has no collectives yet", .command = node.source};
      case Op::barrier:
      case Op::execute:
      case Op::signal_event:
      case Op::wait_event:
      case Op::reset_event:
      case Op::discard:
      case Op::begin_group:
      case Op::end_group: return std::nullopt;
    }
    return std::nullopt;
  }

 private:
  static Task at(TaskKind kind, const Range& range) {
    Task task;
    task.kind = kind;
    task.slot = static_cast<uint32_t>(range.slot);
    task.offset = range.offset;
    task.size = range.size;
    return task;
  }
  static Task fill(const Fill& command) {
    Task task = at(TaskKind::fill, command.destination);
    task.pattern = repeat_pattern(command.pattern, command.destination.tag);
    return task;
  }
  static Task update(const Update& command) {
    Task task = at(TaskKind::update, command.destination);
    task.bytes = command.bytes().data();
    return task;
  }
  static Task copy(const Copy& command) {
    Task task = at(TaskKind::copy, command.destination);
    task.source = {.offset = command.source.offset, .slot = static_cast<uint32_t>(command.source.slot)};
    return task;
  }

  Result<std::optional<Task>> dispatch(const PlanNode& node) {
    const auto& command = as<DispatchCommand>(*node.command);
    auto function = function_of(command.library, command.entry);
    if (!function) {
      Error error = function.error();
      error.command = node.source;
      return error;
    }
    Task task;
    task.kind = TaskKind::dispatch;
    task.dispatch = static_cast<uint32_t>(program_.dispatches.size());
    program_.dispatches.push_back({.function = *function, .command = &command, .source = node.source});
    program_.has_dispatches = true;
    if (command.is_indirect()) program_.has_indirect = true;
    if (!has_known_counts(command)) program_.has_unknown_counts = true;
    return task;
  }

  Result<pianola_host_kernel> function_of(uint32_t library, uint32_t entry) {
    auto& loaded = program_.libraries[library];
    if (!loaded) {
      loaded = kernels_.get(commands_.libraries[library]);
      functions_[library].resize(commands_.libraries[library].kernels().size());
    }
    pianola_host_kernel& known = functions_[library][entry];
    if (known == nullptr) {
      auto function = loaded->function(entry);
      if (!function) return function.error();
      known = *function;
    }
    return known;
  }

  Program& program_;
  const CommandBuffer::Data& commands_;
  KernelCache& kernels_;
  std::vector<std::vector<pianola_host_kernel>> functions_;
};

/// Tasks sorted by segment; those of one segment stay in the nodes' order.
void place_tasks(Program& program, const SegmentGraph& graph, std::vector<std::optional<Task>>& tasks) {
  program.segments.resize(graph.count + 1);
  for (size_t i = 0; i < tasks.size(); ++i) {
    const NodePlace& place = graph.places[i];
    for (uint32_t part = 0; tasks[i] && part < place.parts; ++part) ++program.segments[place.segment + part].first_task;
  }
  uint32_t sum = 0;
  for (Segment& segment : program.segments) sum += std::exchange(segment.first_task, sum);
  program.tasks.resize(sum);
  std::vector<uint32_t> next(graph.count);
  for (uint32_t i = 0; i < graph.count; ++i) next[i] = program.segments[i].first_task;
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (!tasks[i]) continue;
    const NodePlace& place = graph.places[i];
    Task& task = *tasks[i];
    task.parts = static_cast<uint16_t>(place.parts);
    if (place.parts > 1) task.first_share = std::exchange(program.share_count, program.share_count + place.parts);
    for (uint32_t part = 0; part < place.parts; ++part) {
      task.part = static_cast<uint16_t>(part);
      program.tasks[next[place.segment + part]++] = task;
    }
  }
}

void place_edges(Program& program, const SegmentGraph& graph) {
  for (const auto& [earlier, later] : graph.edges) {
    ++program.segments[earlier].first_successor;
    ++program.segments[later].waits_for;
  }
  uint32_t sum = 0;
  for (Segment& segment : program.segments) sum += std::exchange(segment.first_successor, sum);
  program.successors.resize(sum);
  std::vector<uint32_t> next(graph.count);
  for (uint32_t i = 0; i < graph.count; ++i) next[i] = program.segments[i].first_successor;
  for (const auto& [earlier, later] : graph.edges) program.successors[next[earlier]++] = later;

  uint32_t roots = 0;
  for (uint32_t i = 0; i < graph.count; ++i) {
    roots += program.segments[i].waits_for == 0 ? 1 : 0;
    if (program.successors_of(i).size() > 1) program.is_parallel = true;
  }
  if (roots > 1) program.is_parallel = true;
}

}  // namespace

Result<Program> lower(const Plan& plan, KernelCache& kernels, uint32_t threads) {
  Program program;
  program.plan = plan;
  const Plan::Data& data = *plan.data();
  Lowering lowering(program, kernels);
  std::vector<std::optional<Task>> tasks(data.nodes.size());
  std::vector<uint32_t> parts(data.nodes.size(), 1);
  std::vector<float> costs(data.nodes.size());
  for (size_t i = 0; i < data.nodes.size(); ++i) {
    const PlanNode& node = data.nodes[i];
    auto task = lowering.task_of(node);
    if (!task) return task.error();
    tasks[i] = *task;
    const double cost = cost_of(*data.commands.data(), *node.command);
    parts[i] = parts_of(*node.command, cost, threads);
    costs[i] = static_cast<float>(cost);
    program.estimated_us += cost;
  }
  const SegmentGraph graph = cut_segments(data, parts, costs, threads);
  place_tasks(program, graph, tasks);
  place_edges(program, graph);
  return program;
}

}  // namespace pianola::backend::cpu
