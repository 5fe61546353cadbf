// SPDX-License-Identifier: Apache-2.0
// The buffers of a device, by what tells one's memory from another's. Metal keeps order by buffer: it does not see that
// two of them lie over the same pages of the host, so there is never more than one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>

#include "pianola/error.hpp"

namespace pianola::backend::metal {

/// Thread-safe.
class BufferTable {
 public:
  struct Facts {
    const void* buffer = nullptr;     ///< the Metal object
    uint64_t gpu_address = 0;         ///< 0 if the device tells none
    const std::byte* host = nullptr;  ///< or null if the host cannot reach it
    uint64_t size = 0;
  };
  /// The address that this buffer's memory goes by, made up if the device tells none; the same each time while it is
  /// in the table. Each call needs one of remove().
  /// Errors: unsupported (another buffer lies over the same memory of the host).
  Result<std::byte*> add(const Facts& facts);
  /// To be called while the buffer is alive.
  void remove(const void* buffer) noexcept;
  /// Whether a buffer's memory goes by this address and the host cannot reach it there.
  bool is_of_device(const void* pointer);

 private:
  struct Known {
    uint32_t uses = 0;
    uint64_t address = 0;
    uint64_t size = 0;
    uintptr_t host = 0;
  };
  std::mutex mutex_;
  std::map<const void*, Known> known_;
  std::map<uintptr_t, uintptr_t> host_ranges_;  ///< begin to end
  uint64_t next_address_ = uint64_t{1} << 62U;  ///< no address of any host or device
};

}  // namespace pianola::backend::metal
