// SPDX-License-Identifier: Apache-2.0
#include "base/pool.hpp"

#include <cstring>
#include <list>
#include <vector>

namespace pianola {
namespace {

TEST(Pool, KeepsEverythingApartAndAligned) {
  Pool pool;
  std::vector<std::byte*> blocks;
  for (size_t i = 0; i < 2000; ++i) {
    const size_t alignment = size_t{1} << i % 7;
    blocks.push_back(static_cast<std::byte*>(pool.allocate(1 + i % 900, alignment)));
    ASSERT_EQ(reinterpret_cast<uintptr_t>(blocks.back()) % alignment, 0U);
    std::memset(blocks.back(), static_cast<int>(i % 251), 1 + i % 900);
  }
  for (size_t i = 0; i < 2000; ++i) {
    const std::vector<std::byte> wanted(1 + i % 900, static_cast<std::byte>(i % 251));
    ASSERT_EQ(std::memcmp(blocks[i], wanted.data(), wanted.size()), 0) << "block " << i;
  }
}

TEST(Pool, HoldsWhatIsLargerThanItsBlocks) {
  Pool pool;
  std::memset(pool.allocate(100, 8), 1, 100);
  std::memset(pool.allocate(1'000'000, 64), 2, 1'000'000);
  std::memset(pool.allocate(100, 8), 3, 100);
}

TEST(Pool, ServesStandardContainers) {
  Pool pool;
  std::list<int, PoolAllocator<int>> numbers{PoolAllocator<int>(&pool)};
  for (int i = 0; i < 1000; ++i) numbers.push_back(i);
  numbers.remove_if([](int number) { return number % 2 == 0; });
  const auto moved = std::move(numbers);
  EXPECT_EQ(moved.size(), 500U);
  EXPECT_EQ(moved.back(), 999);
}

}  // namespace
}  // namespace pianola
