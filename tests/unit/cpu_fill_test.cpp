// SPDX-License-Identifier: Apache-2.0
// Fills write exactly their bytes.
#include "backend/cpu/fill.hpp"

#include <thread>
#include <vector>

namespace pianola::backend::cpu {
namespace {

constexpr size_t guard = 32;

Pattern16 numbered_pattern() {
  Pattern16 pattern{};
  for (size_t i = 0; i < pattern.size(); ++i) pattern[i] = static_cast<std::byte>(i + 1);
  return pattern;
}

void expect_exact(size_t offset, size_t size, uint32_t pattern_size) {
  const Pattern16 pattern = numbered_pattern();
  std::vector<std::byte> memory(offset + size + 2 * guard, std::byte{0xee});
  fill_bytes(memory.data() + guard + offset, size, repeat_pattern(pattern, pattern_size));
  for (size_t i = 0; i < memory.size(); ++i) {
    const bool inside = i >= guard + offset && i < guard + offset + size;
    const std::byte expected = inside ? pattern[(i - guard - offset) % pattern_size] : std::byte{0xee};
    ASSERT_EQ(memory[i], expected) << "byte " << i << " of a fill of " << size << " at " << offset << ", pattern of "
                                   << pattern_size;
  }
}

TEST(CpuFill, SmallFillsWriteExactlyTheirBytes) {
  for (const uint32_t pattern : {1U, 2U, 4U, 8U, 16U}) {
    for (size_t offset = 0; offset < 17; ++offset) {
      for (size_t size = 0; size <= 80; ++size) expect_exact(offset, size, pattern);
    }
  }
}

TEST(CpuFill, LargeFillsWriteExactlyTheirBytes) {
  for (const uint32_t pattern : {1U, 2U, 4U, 8U, 16U}) {
    for (const size_t size : {255U, 256U, 257U, 4095U, 4096U, 4097U, 8191U, 8208U, 20000U}) {
      for (const size_t offset : {0U, 1U, 13U}) expect_exact(offset, size, pattern);
    }
  }
}

TEST(CpuFillThreads, NeighbouringBytesDoNotDisturbEachOther) {
  std::vector<std::byte> memory(64);
  const auto fill_often = [&](size_t from, std::byte value) {
    Pattern16 pattern;
    pattern.fill(value);
    for (int i = 0; i < 10000; ++i) fill_bytes(memory.data() + from, 7, pattern);
  };
  std::thread other(fill_often, 7, std::byte{2});
  fill_often(0, std::byte{1});
  other.join();
  for (size_t i = 0; i < 14; ++i) EXPECT_EQ(memory[i], i < 7 ? std::byte{1} : std::byte{2});
  EXPECT_EQ(memory[14], std::byte{0});
}

}  // namespace
}  // namespace pianola::backend::cpu
