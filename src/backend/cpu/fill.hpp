// SPDX-License-Identifier: Apache-2.0
// Fills by a pattern, byte for byte: no byte outside the range is read or written, so that two fills of
// neighbouring bytes may run at the same time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace pianola::backend::cpu {

using Pattern16 = std::array<std::byte, 16>;

/// The pattern's first `size` bytes (1, 2, 4, 8 or 16), repeated up to 16.
Pattern16 repeat_pattern(const Pattern16& pattern, uint32_t size);

/// Larger fills, at the speed of memory.
void fill_large(std::byte* destination, uint64_t size, const Pattern16& pattern);

/// Writes `size` bytes: the pattern again and again from the range's first byte, cut off at its end.
inline void fill_bytes(std::byte* destination, uint64_t size, const Pattern16& pattern) {
  if (size > 256) return fill_large(destination, size, pattern);
  uint64_t at = 0;
  for (; at + 16 <= size; at += 16) std::memcpy(destination + at, pattern.data(), 16);
  if (at < size) std::memcpy(destination + at, pattern.data(), size - at);
}

}  // namespace pianola::backend::cpu
