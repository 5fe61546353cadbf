// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/fill.hpp"

#include <algorithm>

namespace pianola::backend::cpu {

Pattern16 repeat_pattern(const Pattern16& pattern, uint32_t size) {
  Pattern16 result{};
  for (size_t i = 0; i < result.size(); ++i) result[i] = pattern[i % size];
  return result;
}

void fill_large(std::byte* destination, uint64_t size, const Pattern16& pattern) {
  const bool one_byte = std::ranges::all_of(pattern, [&](std::byte byte) { return byte == pattern[0]; });
  if (one_byte) {
    std::memset(destination, static_cast<int>(pattern[0]), size);
    return;
  }
  // The head is written once; then whole blocks are copied, which the C library does at the speed of memory.
  constexpr uint64_t block = 4096;
  const uint64_t head = std::min(size, block);
  uint64_t at = 0;
  for (; at + 16 <= head; at += 16) std::memcpy(destination + at, pattern.data(), 16);
  if (at < head) std::memcpy(destination + at, pattern.data(), head - at);
  for (at = head; at < size; at += block) std::memcpy(destination + at, destination, std::min(block, size - at));
}

}  // namespace pianola::backend::cpu
