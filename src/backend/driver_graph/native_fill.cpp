// SPDX-License-Identifier: Apache-2.0
#include "backend/driver_graph/native_fill.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace pianola::driver_graph {
namespace {

/// Length of the shortest pattern that gives the same bytes.
size_t period(std::span<const std::byte> pattern) {
  for (size_t length = 1; length < pattern.size(); length *= 2) {
    if (std::equal(pattern.begin() + static_cast<ptrdiff_t>(length), pattern.end(), pattern.begin())) return length;
  }
  return pattern.size();
}

}  // namespace

NativeFill native_fill(std::span<const std::byte> pattern, uint32_t alignment, uint64_t size) {
  const size_t length = period(pattern);
  // Wider elements are faster; the pattern repeats within them.
  for (const uint8_t element : {uint8_t{4}, uint8_t{2}, uint8_t{1}}) {
    if (element < length || alignment % element != 0 || size % element != 0) continue;
    NativeFill fill{element, 0};
    std::array<std::byte, 4> bytes{};
    for (size_t i = 0; i < element; ++i) bytes[i] = pattern[i % length];
    std::memcpy(&fill.value, bytes.data(), sizeof fill.value);
    return fill;
  }
  return {};
}

}  // namespace pianola::driver_graph
