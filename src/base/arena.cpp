// SPDX-License-Identifier: Apache-2.0
#include "base/arena.hpp"

#include <algorithm>
#include <limits>

namespace pianola {

bool Arena::grow(size_t size) {
  constexpr size_t first = 4096;
  if (size > std::numeric_limits<size_t>::max() / 4 - size_) return false;
  const size_t capacity = std::max({first, capacity_ * 2, size_ + size});
  void* moved = std::realloc(begin_, capacity);
  if (moved == nullptr) return false;
  begin_ = static_cast<std::byte*>(moved);
  capacity_ = capacity;
  return true;
}

void Arena::shrink() {
  if (size_ == 0 || size_ == capacity_) return;
  if (void* moved = std::realloc(begin_, size_); moved != nullptr) {
    begin_ = static_cast<std::byte*>(moved);
    capacity_ = size_;
  }
}

}  // namespace pianola
