// SPDX-License-Identifier: Apache-2.0
// Does one task with one submission's bindings.
#pragma once

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
  void run(std::span<const Task> tasks);
  std::optional<Error> take_error() { return std::move(error_); }

 private:
  std::byte* at(uint32_t slot, uint64_t offset) const { return bindings_.slots[slot].address + offset; }
  void run_dispatch(const Task& task);
  void report(uint32_t command, const std::array<uint32_t, 3>& groups);

  const Program& program_;
  const Bindings& bindings_;
  const DeviceLimits& limits_;
  std::mutex mutex_;
  std::optional<Error> error_;
};

}  // namespace pianola::backend::cpu
