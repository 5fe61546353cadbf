// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/run.hpp"

#include <fmt/format.h>

#include <cstring>

#include "base/guarded.hpp"

namespace pianola::backend::cpu {
namespace {

uint32_t constant_word(const Bindings& bindings, uint32_t constant) {
  uint32_t value = 0;
  std::memcpy(&value, bindings.constants.data() + bindings.constant_offset[constant], sizeof(value));
  return value;
}

/// The dispatch's constants with the named ones filled in; `buffer` is used only if there are any.
const std::byte* constants_of(const DispatchCommand& command, const Bindings& bindings,
                              std::array<std::byte, max_constant_bytes>& buffer) {
  const auto bytes = command.constants();
  if (command.named_count == 0) return bytes.data();
  std::memcpy(buffer.data(), bytes.data(), bytes.size());
  for (const NamedConstant& named : command.named()) {
    const uint32_t from = bindings.constant_offset[static_cast<uint32_t>(named.constant)];
    std::memcpy(buffer.data() + named.offset, bindings.constants.data() + from, named.size);
  }
  return buffer.data();
}

bool exceeds(const std::array<uint32_t, 3>& groups, const DeviceLimits& limits) {
  for (size_t i = 0; i < 3; ++i) {
    if (groups[i] > limits.max_groups[i]) return true;
  }
  return false;
}

}  // namespace

void Replay::run(std::span<const Task> tasks) {
  for (const Task& task : tasks) {
    switch (task.kind) {
      case TaskKind::fill: fill_bytes(at(task.slot, task.offset), task.size, task.pattern); break;
      case TaskKind::update: std::memcpy(at(task.slot, task.offset), task.bytes, task.size); break;
      case TaskKind::copy:  // slots that may alias may overlap
        std::memmove(at(task.slot, task.offset), at(task.source.slot, task.source.offset), task.size);
        break;
      case TaskKind::dispatch: run_dispatch(task); break;
    }
  }
}

void Replay::run_dispatch(const Task& task) {
  const DispatchWork& work = program_.dispatches[task.dispatch];
  const DispatchCommand& command = *work.command;
  std::array<uint32_t, 3> groups = command.groups;
  if (command.is_indirect()) {
    const Range& counts = command.counts();
    std::memcpy(groups.data(), at(static_cast<uint32_t>(counts.slot), counts.offset), sizeof(groups));
  } else {
    for (size_t i = 0; i < 3; ++i) {
      if ((command.header.flags & DispatchCommand::group_is_constant[i]) != 0) {
        groups[i] = constant_word(bindings_, groups[i]);
      }
    }
  }
  if (groups[0] == 0 || groups[1] == 0 || groups[2] == 0) return;
  if (exceeds(groups, limits_)) {
    if (task.part == 0) report(work.source, groups);
    return;
  }

  std::array<void*, max_bindings> buffers;  // NOLINT: set as far as it is used
  const auto bindings = command.bindings();
  for (size_t i = 0; i < bindings.size(); ++i) {
    buffers[i] = at(static_cast<uint32_t>(bindings[i].slot), bindings[i].offset);
  }
  std::array<std::byte, max_constant_bytes> constants;  // NOLINT: the same
  const uint64_t count = uint64_t{groups[0]} * groups[1] * groups[2];
  const uint64_t share = (count + task.parts - 1) / task.parts;
  const uint64_t begin = std::min(count, share * task.part);
  const uint64_t end = std::min(count, begin + share);
  if (begin == end) return;
  const pianola_host_launch launch{.buffers = buffers.data(),
                                   .constants = constants_of(command, bindings_, constants),
                                   .groups = {groups[0], groups[1], groups[2]},
                                   .reserved = 0,
                                   .begin = begin,
                                   .end = end};
  work.function(&launch);
}

void Replay::report(uint32_t command, const std::array<uint32_t, 3>& groups) {
  const std::lock_guard lock(mutex_);
  if (error_ && error_->command <= command) return;
  const auto made = guarded([&]() -> Result<Error> {
    const auto& limit = limits_.max_groups;
    return Error{.code = Errc::execution_failed,
                 .message = fmt::format("indirect counts of {} x {} x {} workgroups; the device takes {} x {} x {}",
                                        groups[0], groups[1], groups[2], limit[0], limit[1], limit[2]),
                 .command = command};
  });
  error_ = made ? *made : made.error();
}

}  // namespace pianola::backend::cpu
