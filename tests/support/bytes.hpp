// SPDX-License-Identifier: Apache-2.0
// Byte vectors for tests: made from values, compared with the first difference shown.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace pianola::test {

using Bytes = std::vector<std::byte>;

template <class T>
Bytes to_bytes(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

/// `size` bytes that differ from their neighbours and from those of another seed.
inline Bytes pattern_bytes(size_t size, uint32_t seed) {
  Bytes bytes(size);
  uint32_t state = seed * 2654435761U + 12345U;
  for (std::byte& byte : bytes) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<std::byte>(state >> 24);
  }
  return bytes;
}

/// `count` values: first, first + step, ...
inline std::vector<uint32_t> counting(uint32_t count, uint32_t first = 0, uint32_t step = 1) {
  std::vector<uint32_t> values(count);
  for (uint32_t i = 0; i < count; ++i) values[i] = first + i * step;
  return values;
}

inline std::vector<uint32_t> repeated(uint32_t value, uint32_t count) {
  return std::vector<uint32_t>(count, value);
}

/// Writes the pattern over bytes [offset, offset + size), as a fill does.
inline void paint(Bytes& bytes, uint64_t offset, uint64_t size, std::span<const std::byte> pattern) {
  for (uint64_t i = 0; i < size; ++i) bytes[offset + i] = pattern[i % pattern.size()];
}

inline ::testing::AssertionResult same_bytes(std::span<const std::byte> got, std::span<const std::byte> wanted,
                                             std::string_view what = "bytes") {
  if (got.size() != wanted.size()) {
    return ::testing::AssertionFailure() << what << ": " << got.size() << " bytes, wanted " << wanted.size();
  }
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i] == wanted[i]) continue;
    size_t wrong = 0;
    for (size_t k = i; k < got.size(); ++k) wrong += got[k] != wanted[k] ? 1 : 0;
    return ::testing::AssertionFailure() << what << ": byte " << i << " is " << std::to_integer<int>(got[i])
                                         << ", wanted " << std::to_integer<int>(wanted[i]) << "; " << wrong << " of "
                                         << got.size() << " differ";
  }
  return ::testing::AssertionSuccess();
}

}  // namespace pianola::test
