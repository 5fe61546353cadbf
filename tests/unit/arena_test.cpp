// SPDX-License-Identifier: Apache-2.0
#include "base/arena.hpp"

#include <cstring>

namespace pianola {
namespace {

TEST(Arena, KeepsBytesWhileItGrows) {
  Arena arena;
  for (uint64_t i = 0; i < 10000; ++i) {
    std::byte* at = arena.append(8);
    ASSERT_NE(at, nullptr);
    std::memcpy(at, &i, 8);
  }
  for (uint64_t i = 0; i < 10000; ++i) {
    uint64_t value = 0;
    std::memcpy(&value, arena.begin() + 8 * i, 8);
    ASSERT_EQ(value, i);
  }
}

TEST(Arena, RefusesASizeThatNoMemoryHolds) {
  Arena arena;
  ASSERT_NE(arena.append(16), nullptr);
  EXPECT_EQ(arena.append(SIZE_MAX / 2), nullptr);
  EXPECT_EQ(arena.size(), 16U);
}

}  // namespace
}  // namespace pianola
