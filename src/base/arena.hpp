// SPDX-License-Identifier: Apache-2.0
// One growing block of bytes for command records. Trivially copyable contents only; addresses are
// stable once nothing is appended any more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "base/pages.hpp"

namespace pianola {

class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  Arena(Arena&& other) noexcept { swap(other); }
  Arena& operator=(Arena&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Arena() { free_pages(begin_, capacity_); }

  /// Room for `size` bytes (a multiple of 8) at an 8-byte address; its bytes are uninitialised.
  /// Null if memory is out; the arena is then unchanged.
  std::byte* append(size_t size) {
    if (size > capacity_ - size_ && !grow(size)) return nullptr;
    std::byte* at = begin_ + size_;
    size_ += size;
    return at;
  }
  /// Gives back the unused end if it is more than a quarter.
  void shrink();

  const std::byte* begin() const { return begin_; }
  const std::byte* end() const { return begin_ + size_; }
  std::byte* data() { return begin_; }
  size_t size() const { return size_; }
  void truncate(size_t size) { size_ = size; }

 private:
  bool grow(size_t size);
  bool move_to(size_t capacity);
  void swap(Arena& other) noexcept {
    std::swap(begin_, other.begin_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }
  std::byte* begin_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace pianola
