// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/run.hpp"

#include <fmt/format.h>

#include <algorithm>
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

constexpr uint32_t chunks_in_share = 16;

/// Where chunk `chunk` of `chunks` begins; no product overflows for as many as there can be.
uint64_t cut_at(uint64_t count, uint64_t chunk, uint64_t chunks) {
  return count / chunks * chunk + count % chunks * chunk / chunks;
}

bool exceeds(const std::array<uint32_t, 3>& groups, const DeviceLimits& limits) {
  for (size_t i = 0; i < 3; ++i) {
    if (groups[i] > limits.max_groups[i]) return true;
  }
  return false;
}

}  // namespace

/// Calls body(chunk, chunks) for the chunks of a task that fall to this thread.
template <class Body>
void Replay::for_each_chunk(const Task& task, uint32_t worker, Body body) {
  if (task.parts == 1 || shares_ == nullptr) return body(task.part, task.parts);
  for (uint32_t i = 0; i < task.parts; ++i) {
    const uint32_t share = (worker + i) % task.parts;
    std::atomic<uint32_t>& taken = shares_[task.first_share + share];
    uint32_t chunk = 0;
    while ((chunk = taken.fetch_add(1, std::memory_order_relaxed)) < chunks_in_share) {
      body(share * chunks_in_share + chunk, task.parts * chunks_in_share);
    }
  }
}

/// Calls body(offset, size) for the bytes of a task that fall to this thread. They are cut at multiples of 64, so
/// that patterns go on and lines are not shared.
template <class Body>
void Replay::for_each_piece(const Task& task, uint32_t worker, Body body) {
  if (task.parts == 1) return body(uint64_t{0}, task.size);
  for_each_chunk(task, worker, [&](uint64_t chunk, uint64_t chunks) {
    const uint64_t lines = (task.size + 63) / 64;
    const uint64_t begin = cut_at(lines, chunk, chunks) * 64;
    const uint64_t end = std::min(task.size, cut_at(lines, chunk + 1, chunks) * 64);
    if (begin < end) body(begin, end - begin);
  });
}

void Replay::run(std::span<const Task> tasks, uint32_t worker) {
  for (const Task& task : tasks) {
    switch (task.kind) {
      case TaskKind::fill:
        for_each_piece(task, worker, [&](uint64_t offset, uint64_t size) {
          fill_bytes(at(task.slot, task.offset + offset), size, task.pattern);
        });
        break;
      case TaskKind::update:
        for_each_piece(task, worker, [&](uint64_t offset, uint64_t size) {
          std::memcpy(at(task.slot, task.offset + offset), task.bytes + offset, size);
        });
        break;
      case TaskKind::copy:  // memory of slots that may alias may overlap: any bytes, but no undefined behaviour
        for_each_piece(task, worker, [&](uint64_t offset, uint64_t size) {
          std::memmove(at(task.slot, task.offset + offset), at(task.source.slot, task.source.offset + offset), size);
        });
        break;
      case TaskKind::dispatch: run_dispatch(task, worker); break;
    }
  }
}

void Replay::run_dispatch(const Task& task, uint32_t worker) {
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
    report(work.source, groups);
    return;
  }

  std::array<void*, max_bindings> buffers;  // NOLINT: set as far as it is used
  const auto bindings = command.bindings();
  for (size_t i = 0; i < bindings.size(); ++i) {
    buffers[i] = at(static_cast<uint32_t>(bindings[i].slot), bindings[i].offset);
  }
  std::array<std::byte, max_constant_bytes> constants;  // NOLINT: the same
  const uint64_t count = uint64_t{groups[0]} * groups[1] * groups[2];
  pianola_host_launch launch{.buffers = buffers.data(),
                             .constants = constants_of(command, bindings_, constants),
                             .groups = {groups[0], groups[1], groups[2]},
                             .reserved = 0,
                             .begin = 0,
                             .end = count};
  if (task.parts == 1) return work.function(&launch);
  for_each_chunk(task, worker, [&](uint64_t chunk, uint64_t chunks) {
    launch.begin = cut_at(count, chunk, chunks);
    launch.end = cut_at(count, chunk + 1, chunks);
    if (launch.begin < launch.end) work.function(&launch);
  });
}

void Replay::report(uint32_t command, const std::array<uint32_t, 3>& groups) {
  const std::lock_guard lock(mutex_);
  if (error_ && error_->command <= command) return;
  auto made = guarded([&]() -> Result<Error> {
    const auto& limit = limits_.max_groups;
    return Error{.code = Errc::execution_failed,
                 .message = fmt::format("indirect counts of {} x {} x {} workgroups; the device takes {} x {} x {}",
                                        groups[0], groups[1], groups[2], limit[0], limit[1], limit[2]),
                 .command = command};
  });
  error_ = made ? std::move(*made) : std::move(made.error());
}

}  // namespace pianola::backend::cpu
