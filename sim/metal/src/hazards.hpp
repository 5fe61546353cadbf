// SPDX-License-Identifier: Apache-2.0
// Finds accesses that Metal leaves unordered, byte by byte. Everything here is guarded by device_lock().
#pragma once

#include <mutex>

#include "commands.hpp"

namespace sim_metal {

/// Held while one command runs: the software device runs one command at a time.
std::mutex& device_lock();

/// Gives the command its id and remembers it.
void begin_command(Command& command);

/// One access of a command. Thread keys are only compared within a command; 0 is no kernel thread.
struct Touch {
  const Command& command;
  Memory& memory;
  size_t offset = 0;
  size_t size = 0;
  bool write = false;
  bool atomic = false;
  uint32_t thread = 0;
};
void touch(const Touch& touch);

/// Whether an earlier command of this command's encoder was the last to write any of these bytes.
bool is_written_in_encoder(const Command& command, Memory& memory, size_t offset, size_t size);

/// Key of a thread of a group between two threadgroup barriers.
constexpr uint32_t thread_key(uint32_t group, uint32_t phase, uint32_t local) {
  return ((group + 1) & 0xffffU) << 16 | (phase & 63U) << 10 | (local & 1023U);
}

}  // namespace sim_metal
