// SPDX-License-Identifier: Apache-2.0
// The checks behind every load and store of a running kernel. Compiled kernels call in here (see access.cpp).
#pragma once

#include <csetjmp>
#include <utility>
#include <vector>

#include "commands.hpp"
#include "fibers.hpp"

namespace sim_metal {

/// The dispatch that runs on this thread.
struct Execution {
  /// Memory that the dispatch may touch, and how.
  struct Reach {
    Memory* memory;
    bool read, write;
  };
  const Command* command = nullptr;
  std::vector<Reach> reach;
  std::vector<std::pair<uintptr_t, uintptr_t>> allowed;  ///< stack, threadgroup memory, setBytes data, constants
  const Reach* last = nullptr;
  uint32_t thread = 0;  ///< key of the kernel thread, see thread_key()
  bool faulted = false;
  jmp_buf fault;
  Fibers* fibers = nullptr;  ///< if threads of a group stop at barriers

  void allow(const void* begin, size_t size) {
    const auto at = reinterpret_cast<uintptr_t>(begin);
    allowed.emplace_back(at, at + size);
  }
  void add_reach(Memory* memory, bool read, bool write);
};

void set_current(Execution* execution);

}  // namespace sim_metal
