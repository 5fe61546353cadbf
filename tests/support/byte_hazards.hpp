// SPDX-License-Identifier: Apache-2.0
// Which accesses are still unordered against what comes next, kept for every single byte: slow and plain.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace pianola::test {

/// Bytes [begin, end) of one allocation.
struct ByteAccess {
  uint32_t memory = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
  bool writes = false;
};

class ByteHazards {
 public:
  uint32_t add_memory(uint64_t size) {
    bytes_.emplace_back(size);
    return static_cast<uint32_t>(bytes_.size() - 1);
  }

  /// Times are positions in the list: each access takes the next one.
  int now() const { return now_; }
  int tick() { return ++now_; }

  /// True if the access conflicts with an earlier one that no barrier or event has put before it.
  bool conflicts(const ByteAccess& access) const {
    for (uint64_t i = access.begin; i < access.end; ++i) {
      const Byte& byte = bytes_[access.memory][i];
      if (byte.last_write > byte.sealed || (access.writes && byte.last_read > byte.sealed)) return true;
    }
    return false;
  }
  void apply(const ByteAccess& access) {
    for (uint64_t i = access.begin; i < access.end; ++i) {
      Byte& byte = bytes_[access.memory][i];
      (access.writes ? byte.last_write : byte.last_read) = now_;
    }
  }
  /// Everything up to `time` is ordered against what comes next, on these bytes or on all.
  void seal(const ByteAccess& where, int time) {
    for (uint64_t i = where.begin; i < where.end; ++i) {
      Byte& byte = bytes_[where.memory][i];
      byte.sealed = std::max(byte.sealed, time);
    }
  }
  void seal_all(int time) {
    for (uint32_t memory = 0; memory < bytes_.size(); ++memory) seal({memory, 0, bytes_[memory].size(), true}, time);
  }

 private:
  struct Byte {
    int last_write = 0;
    int last_read = 0;
    int sealed = 0;
  };
  std::vector<std::vector<Byte>> bytes_;
  int now_ = 0;
};

}  // namespace pianola::test
