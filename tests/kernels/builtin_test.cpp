// SPDX-License-Identifier: Apache-2.0
// The built-in kernels on one target, compared with the obvious loops byte by byte.
#include "format/builtin_kernels.hpp"

#include <algorithm>
#include <cstring>
#include <random>
#include <string>

#include "fixture.hpp"

namespace pianola::kernel_test {
namespace {

using Bytes = std::vector<std::byte>;

class BuiltinKernels : public KernelTest {
 protected:
  BuiltinKernels() : KernelTest(builtin_kernels()) {}
  bool run(const BuiltinDispatch& dispatch, std::initializer_list<Memory> buffers) {
    return KernelTest::run(dispatch.kernel, {dispatch.groups, 1, 1}, buffers, dispatch.constants);
  }
};

/// Memory whose first byte lies at a multiple of 16, filled with noise.
struct Area {
  explicit Area(size_t size, uint32_t seed) : bytes(size) {
    std::minstd_rand random(seed);
    std::ranges::generate(bytes, [&] { return static_cast<std::byte>(random() >> 8U); });
  }
  /// From there to the end.
  std::span<std::byte> at(size_t offset) { return std::span(bytes).subspan(std::min(offset, bytes.size())); }
  Bytes bytes;
};
static_assert(__STDCPP_DEFAULT_NEW_ALIGNMENT__ >= 16);

constexpr size_t guard = 64;

TEST_F(BuiltinKernels, FillWritesExactlyItsBytes) {
  const std::array<std::byte, 16> pattern = [] {
    std::array<std::byte, 16> bytes{};
    for (size_t i = 0; i < 16; ++i) bytes[i] = static_cast<std::byte>(0x11 * i + 3);
    return bytes;
  }();
  for (const size_t width : {1, 2, 4, 8, 16}) {
    for (size_t offset = 0; offset < 17; ++offset) {
      for (size_t count = 1; count * width <= 80; ++count) {
        const size_t size = count * width;
        Area area(guard * 2 + offset + size, 1);
        Bytes expected = area.bytes;
        for (size_t i = 0; i < size; ++i) expected[guard + offset + i] = pattern[i % width];
        const auto dispatch = builtin_fill(guard + offset, size, std::span(pattern).first(width));
        ASSERT_TRUE(run(dispatch, {area.at(guard + offset), area.at(guard + offset + dispatch.block_offset)}));
        ASSERT_EQ(area.bytes, expected) << width << " bytes wide at " << offset << ", " << size << " bytes";
      }
    }
  }
}

TEST_F(BuiltinKernels, CopyWritesExactlyItsBytesAtEveryPairOfAlignments) {
  for (size_t to = 0; to < 17; ++to) {
    for (size_t from = 0; from < 17; ++from) {
      for (const size_t size : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 23, 24, 25, 31, 32, 33, 63, 64, 65, 100}) {
        Area source(guard * 2 + from + size, 2);
        Area destination(guard * 2 + to + size, 3);
        Bytes expected = destination.bytes;
        std::memcpy(expected.data() + guard + to, source.at(guard + from).data(), size);
        const auto dispatch = builtin_copy(guard + to, guard + from, size);
        ASSERT_TRUE(run(dispatch, {source.at(guard + from), source.at(guard + from + dispatch.source_block_offset),
                                   destination.at(guard + to), destination.at(guard + to + dispatch.block_offset)}));
        ASSERT_EQ(destination.bytes, expected) << size << " bytes from " << from << " to " << to;
      }
    }
  }
}

TEST_F(BuiltinKernels, LargeFillsAndCopiesUseManyWorkgroups) {
  constexpr size_t size = 1'000'003;
  Area source(size + 32, 4);
  for (const size_t from : {0, 1, 6, 16}) {
    Area destination(size + 32, 5);
    Bytes expected = destination.bytes;
    std::memcpy(expected.data() + 3, source.at(from).data(), size);
    const auto copy = builtin_copy(3, from, size);
    EXPECT_GT(copy.groups, 200U);
    ASSERT_TRUE(run(copy, {source.at(from), source.at(from + copy.source_block_offset), destination.at(3),
                           destination.at(3 + copy.block_offset)}));
    ASSERT_TRUE(destination.bytes == expected) << "from " << from;
  }
  Area area(size + 32, 6);
  Bytes expected = area.bytes;
  std::fill_n(expected.begin() + 5, size, std::byte{0xab});
  const std::array pattern = {std::byte{0xab}};
  const auto fill = builtin_fill(5, size, pattern);
  ASSERT_TRUE(run(fill, {area.at(5), area.at(5 + fill.block_offset)}));
  ASSERT_TRUE(area.bytes == expected);
}

TEST_F(BuiltinKernels, UpdateCarriesUpTo960BytesToAnyAddress) {
  Area source(960, 7);
  for (size_t to = 0; to < 17; ++to) {
    for (const size_t size : {1, 2, 3, 5, 15, 16, 17, 33, 64, 100, 255, 957, 958, 959, 960}) {
      Area destination(guard * 2 + to + size, 8);
      Bytes expected = destination.bytes;
      std::memcpy(expected.data() + guard + to, source.at(0).data(), size);
      const auto dispatch = builtin_update(guard + to, std::span(source.bytes).first(size));
      ASSERT_TRUE(run(dispatch, {destination.at(guard + to), destination.at(guard + to + dispatch.block_offset)}));
      ASSERT_EQ(destination.bytes, expected) << size << " bytes to " << to;
    }
  }
}

TEST_F(BuiltinKernels, CountsWithinTheLimitsGoThroughAndOthersBecomeZeros) {
  constexpr std::array<uint32_t, 3> most = {10, 20, 30};
  const std::array<uint32_t, 3> cases[] = {{0, 0, 0},  {1, 1, 1},  {10, 20, 30},         {11, 1, 1},
                                           {1, 21, 1}, {1, 1, 31}, {UINT32_MAX, 20, 30}, {0, 21, 1}};
  for (const auto& counts : cases) {
    Area source(sizeof counts, 9);
    Area checked(checked_counts_bytes, 10);
    std::memcpy(source.bytes.data(), counts.data(), sizeof counts);
    ASSERT_TRUE(run(builtin_check_counts(most), {source.at(0), checked.at(0)}));
    std::array<uint32_t, 6> result;
    std::memcpy(result.data(), checked.bytes.data(), sizeof result);
    const bool fits = counts[0] <= most[0] && counts[1] <= most[1] && counts[2] <= most[2];
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(result[i], fits ? counts[i] : 0);
      EXPECT_EQ(result[3 + i], counts[i]);
    }
  }
}

}  // namespace
}  // namespace pianola::kernel_test
