// SPDX-License-Identifier: Apache-2.0
// Does tasks with one submission's bindings.
//
// Work that is cut into parts has a share for each: a row of chunks, and how many of them are taken. A thread starts
// with the share that bears its own number, so that it finds in its cache what it left there, and goes on to the
// others' when that is used up, so that all end together.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>

#include "backend/backend.hpp"
#include "backend/cpu/program.hpp"

namespace pianola::backend::cpu {

/// One replay: what it works on, and its first error (the one of the lowest command).
class Replay {
 public:
  Replay(const Program& program, const Bindings& bindings, const DeviceLimits& limits)
      : program_(program), bindings_(bindings), limits_(limits) {}

  const Program& program() const { return program_; }
  /// Chunks taken, a share each, all 0; without, each part does a fixed piece.
  void set_shares(std::atomic<uint32_t>* shares) { shares_ = shares; }
  /// `worker`: number of the calling thread among those that work on this replay.
  void run(std::span<const Task> tasks, uint32_t worker);
  std::optional<Error> take_error() { return std::move(error_); }

 private:
  std::byte* at(uint32_t slot, uint64_t offset) const { return bindings_.slots[slot].address + offset; }
  template <class Body>
  void for_each_chunk(const Task& task, uint32_t worker, Body body);
  template <class Body>
  void for_each_piece(const Task& task, uint32_t worker, Body body);
  void run_dispatch(const Task& task, uint32_t worker);
  void report(uint32_t command, const std::array<uint32_t, 3>& groups);

  const Program& program_;
  const Bindings& bindings_;
  const DeviceLimits& limits_;
  std::atomic<uint32_t>* shares_ = nullptr;
  std::mutex mutex_;
  std::optional<Error> error_;
};

}  // namespace pianola::backend::cpu
