// SPDX-License-Identifier: Apache-2.0
// Memory of the software device: bytes with red zones, and for each byte who touched it last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace sim_metal {

/// The last write of one byte and a read since: command ids (0 is none) and kernel threads.
struct Shadow {
  uint32_t write_command;
  uint32_t write_thread;
  uint32_t read_command;
  uint32_t read_thread;
};

class Memory {
 public:
  /// Own memory, or the caller's if `no_copy` is given. Throws std::bad_alloc.
  Memory(size_t length, void* no_copy);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  uint8_t* base() const { return base_; }
  size_t length() const { return length_; }
  uintptr_t address() const { return reinterpret_cast<uintptr_t>(base_); }
  /// What the device calls it: kernels can follow it only if the memory is the device's own.
  uint64_t gpu_address() const { return gpu_address_; }
  bool contains(uintptr_t at) const { return at >= address() && at < address() + length_; }
  Shadow& shadow(size_t byte) { return shadow_[byte]; }
  std::string name() const;

  bool untracked = false;
  std::map<size_t, std::vector<uint32_t>> more_readers;  ///< of a byte: those that the one noted does not come after
  std::string label;
  std::function<void()> on_free;

 private:
  size_t length_;
  uint8_t* base_ = nullptr;
  void* allocation_ = nullptr;
  uint64_t gpu_address_ = 0;
  Shadow* shadow_ = nullptr;
  uint32_t id_;
};

/// Whether a range lies within a length; the range's end may be past what 64 bits hold.
constexpr bool fits(uint64_t offset, uint64_t size, uint64_t length) {
  return offset <= length && size <= length - offset;
}

/// The memory that holds this address, or null.
Memory* find_memory(uintptr_t at);
/// The memory whose red zone holds this address, or null.
Memory* find_near(uintptr_t at);

}  // namespace sim_metal
