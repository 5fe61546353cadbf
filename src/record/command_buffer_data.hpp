// SPDX-License-Identifier: Apache-2.0
// What a finished recording consists of.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/arena.hpp"
#include "pianola/buffer.hpp"
#include "pianola/command_buffer.hpp"
#include "pianola/kernel_library.hpp"
#include "record/commands.hpp"

namespace pianola {

/// Walks the records of an arena in order.
class CommandIterator {
 public:
  explicit CommandIterator(const std::byte* at) : at_(at) {}
  const CommandHeader& operator*() const { return *reinterpret_cast<const CommandHeader*>(at_); }
  CommandIterator& operator++() {
    at_ += size_t{8} * (**this).words;
    return *this;
  }
  bool operator==(const CommandIterator&) const = default;

 private:
  const std::byte* at_;
};

struct CommandBuffer::Data {
  Data() = default;
  ~Data();
  Data(const Data&) = delete;
  Data& operator=(const Data&) = delete;

  Arena records;
  uint32_t recorder = 0;  ///< that made it: references carry its number
  uint32_t count = 0;
  uint32_t event_count = 0;
  uint32_t barrier_count = 0;  ///< barriers and event waits, nested ones not counted
  std::vector<SlotInfo> slots;
  std::vector<ConstantInfo> constants;
  std::map<std::string, SlotId, std::less<>> slot_ids;  ///< by name
  std::map<std::string, ConstantId, std::less<>> constant_ids;
  std::vector<std::string> channels;
  std::vector<Buffer> direct;            ///< one a slot; empty where it is bound later. Offsets are the buffer's.
  std::vector<KernelLibrary> libraries;  ///< those of nested command buffers included
  std::vector<CommandBuffer> nested;

  CommandIterator begin() const { return CommandIterator(records.begin()); }
  CommandIterator end() const { return CommandIterator(records.end()); }
};

}  // namespace pianola
