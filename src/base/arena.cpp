// SPDX-License-Identifier: Apache-2.0
#include "base/arena.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace pianola {

bool Arena::grow(size_t size) {
  constexpr size_t first = 4096;
  if (size > std::numeric_limits<size_t>::max() / 4 - size_) return false;
  return move_to(std::max({first, capacity_ * 2, size_ + size}));
}

void Arena::shrink() {
  if (size_ < capacity_ / 4 * 3) (void)move_to(size_);
}

bool Arena::move_to(size_t capacity) {
  std::byte* block = capacity > 0 ? allocate_pages(capacity) : nullptr;
  if (capacity > 0 && block == nullptr) return false;
  if (size_ > 0) std::memcpy(block, begin_, size_);
  free_pages(begin_, capacity_);
  begin_ = block;
  capacity_ = capacity;
  return true;
}

}  // namespace pianola
