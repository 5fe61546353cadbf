// SPDX-License-Identifier: Apache-2.0
// What the portable dialect promises, on one target, against plain C++.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>

#include "dialect_kernel_image.hpp"
#include "fixture.hpp"

namespace pianola::kernel_test {
namespace {

class KernelDialect : public KernelTest {
 protected:
  KernelDialect() : KernelTest(KernelLibrary::from_bytes(dialect_kernel_image())) {}
};

/// IEEE binary16 by its definition.
float half_value(uint32_t bits) {
  const double sign = (bits & 0x8000U) != 0 ? -1 : 1;
  const uint32_t exponent = (bits >> 10U) & 31U;
  const uint32_t fraction = bits & 1023U;
  if (exponent == 31) return fraction == 0 ? static_cast<float>(sign) * INFINITY : NAN;
  if (exponent == 0) return static_cast<float>(sign * fraction * std::exp2(-24));
  return static_cast<float>(sign * (1024 + fraction) * std::exp2(static_cast<int>(exponent) - 25));
}

TEST_F(KernelDialect, EveryHalfIsReadAndStoredExactly) {
  constexpr uint32_t n = 65536;
  std::vector<uint16_t> from(n);
  std::vector<float> wide(n);
  std::vector<float> values(n);
  std::vector<uint16_t> narrow(n);
  for (uint32_t i = 0; i < n; ++i) {
    from[i] = static_cast<uint16_t>(i);
    values[i] = half_value(i);
  }
  ASSERT_TRUE(run("halves", {groups_for(n), 1, 1}, {from, wide, values, narrow}, {n}));
  for (uint32_t i = 0; i < n; ++i) {
    if (std::isnan(values[i])) {
      ASSERT_TRUE(std::isnan(wide[i])) << i;
      ASSERT_TRUE(std::isnan(half_value(narrow[i]))) << i;
    } else {
      ASSERT_EQ(wide[i], values[i]) << i;
      ASSERT_EQ(narrow[i], i) << values[i];
    }
  }
}

TEST_F(KernelDialect, StoringAHalfRoundsToTheNearestEven) {
  std::vector<float> values;
  for (uint32_t bits = 0; bits < 0x7c00; ++bits) {
    const double low = half_value(bits);
    const double high = bits == 0x7bff ? 65536 : half_value(bits + 1);
    const auto middle = static_cast<float>((low + high) / 2);
    values.insert(values.end(), {middle, std::nextafter(middle, 0.0F), std::nextafter(middle, 1e6F)});
  }
  const auto n = static_cast<uint32_t>(values.size());
  std::vector<uint16_t> from(n);
  std::vector<float> wide(n);
  std::vector<uint16_t> narrow(n);
  ASSERT_TRUE(run("halves", {groups_for(n), 1, 1}, {from, wide, values, narrow}, {n}));
  for (uint32_t i = 0; i < n; ++i) {
    const uint32_t low = i / 3;
    const uint32_t even = low + (low & 1U);
    const uint32_t right = i % 3 == 0 ? even : i % 3 == 1 ? low : low + 1;
    ASSERT_EQ(narrow[i], right) << values[i];
  }
}

TEST_F(KernelDialect, SmallIntegersAreStorage) {
  constexpr uint32_t n = 300;
  std::vector<int8_t> a(n);
  std::vector<uint8_t> b(n);
  std::vector<int16_t> c(n);
  std::vector<uint16_t> d(n);
  std::minstd_rand random(3);
  for (uint32_t i = 0; i < n; ++i) {
    a[i] = static_cast<int8_t>(random());
    b[i] = static_cast<uint8_t>(random());
    c[i] = static_cast<int16_t>(random());
    d[i] = static_cast<uint16_t>(random());
  }
  std::vector<int> sums(n);
  std::vector<uint8_t> bytes(n);
  std::vector<int16_t> shorts(n);
  ASSERT_TRUE(run("small_integers", {groups_for(n), 1, 1}, {a, b, c, d, sums, bytes, shorts}, {n}));
  for (uint32_t i = 0; i < n; ++i) {
    const int sum = a[i] + b[i] + c[i] + d[i];
    ASSERT_EQ(sums[i], sum);
    ASSERT_EQ(bytes[i], static_cast<uint8_t>(sum));
    ASSERT_EQ(shorts[i], static_cast<int16_t>(sum));
  }
}

TEST_F(KernelDialect, IntegerFunctionsAreExact) {
  constexpr uint32_t n = 130;
  std::vector<int> a(n);
  std::vector<uint32_t> b(n);
  for (uint32_t i = 0; i < n; ++i) {
    a[i] = static_cast<int>(i) - 60;
    b[i] = i;
  }
  std::vector<int> x(n);
  std::vector<uint32_t> y(n);
  ASSERT_TRUE(run("integers", {groups_for(n), 1, 1}, {a, b, x, y}, {n}));
  for (uint32_t i = 0; i < n; ++i) {
    ASSERT_EQ(x[i], std::clamp(a[i], -5, 7) + std::min(a[i], 3) * std::max(a[i], 2) + std::abs(a[i]));
    ASSERT_EQ(y[i], std::clamp(b[i], 5U, 70U) + std::min(b[i], 30U) * std::max(b[i], 20U));
  }
}

TEST_F(KernelDialect, FunctionsOfFloatTakeWholeNumbers) {
  std::vector<int32_t> values;
  for (int32_t root = 1; root <= 40; ++root) values.push_back(root * root);
  const auto n = static_cast<uint32_t>(values.size());
  std::vector<float> results(2 * size_t{n});
  ASSERT_TRUE(run("of_whole_numbers", {groups_for(n), 1, 1}, {values, results}, {n}));
  for (uint32_t i = 0; i < n; ++i) {
    const double x = values[i];
    EXPECT_NEAR(results[i], std::sqrt(x) + x + x + 2 * x + n, 1e-2) << x;
    EXPECT_NEAR(results[n + i],
                1 / std::sqrt(x) + std::exp(1 - x) + std::log(x) + std::sin(x) + std::cos(x) + std::tanh(x) + x * x +
                    (x > 100 ? 1 : 0),
                3e-5 * x * x + 0.02)
        << x;
  }
}

TEST_F(KernelDialect, DivisionsAndRemaindersAreThoseOfCpp) {
  std::vector<int> a;
  std::vector<int> b;
  for (const int dividend : {-1000000007, -8, -7, -1, 0, 1, 7, 8, 999999937}) {
    for (const int divisor : {-1000000, -7, -3, -2, 1, 2, 3, 7, 1000000}) {
      a.push_back(dividend);
      b.push_back(divisor);
    }
  }
  const auto n = static_cast<uint32_t>(a.size());
  std::vector<int> quotients(n);
  std::vector<int> remainders(n);
  std::vector<int> in_place(n);
  std::vector<uint32_t> natural(n);
  ASSERT_TRUE(run("divisions", {groups_for(n), 1, 1}, {a, b, quotients, remainders, in_place, natural}, {n}));
  for (uint32_t i = 0; i < n; ++i) {
    ASSERT_EQ(quotients[i], a[i] / b[i]) << a[i] << " / " << b[i];
    ASSERT_EQ(remainders[i], 2 * a[i] % b[i] - 1) << 2 * a[i] << " % " << b[i];
    ASSERT_EQ(in_place[i], a[i] % (b[i] + 1000)) << a[i] << " % " << b[i] + 1000;
    ASSERT_EQ(natural[i], static_cast<uint32_t>(a[i]) % static_cast<uint32_t>(b[i]));
  }
}

TEST_F(KernelDialect, AtomicsCountEveryThread) {
  constexpr uint32_t n = 1000;
  std::vector<uint32_t> values(n);
  std::vector<uint32_t> bins(16);
  std::vector<uint32_t> expected(16);
  std::vector<int> extremes = {-1000000, 1000000, 0, -1, 0};
  std::vector<int> right = extremes;
  for (uint32_t i = 0; i < n; ++i) {
    values[i] = i * 7919 % 5003;
    ++expected[values[i] & 15U];
    const int value = static_cast<int>(values[i]);
    right = {std::max(right[0], value), std::min(right[1], value), right[2] | 1 << (value & 15), right[3] & value,
             right[4] ^ value};
  }
  ASSERT_TRUE(run("histogram", {groups_for(n), 1, 1}, {values, bins, extremes}, {n}));
  EXPECT_EQ(bins, expected);
  EXPECT_EQ(extremes, right);
}

TEST_F(KernelDialect, ThreadsAreNumberedInThreeDimensions) {
  constexpr uint32_t width = 8;
  constexpr uint32_t height = 9;
  constexpr uint32_t depth = 4;
  std::vector<uint32_t> out(width * height * depth, 77);
  ASSERT_TRUE(run("numbers", {2, 3, 2}, {out}, {3, 5, 7, width}));
  for (uint32_t i = 0; i < out.size(); ++i) {
    const uint32_t x = i % width;
    const uint32_t y = i / width % height;
    const uint32_t z = i / width / height;
    const uint32_t own = x % 4 + 4 * (y % 3) + 12 * (z % 2);
    ASSERT_EQ(out[i], own == 5 ? 77 : 3 * x + 5 * y + 7 * z + (23 - own) * 10) << x << " " << y << " " << z;
  }
}

TEST_F(KernelDialect, WordsOfOtherLanguagesAreNames) {
  std::vector<uint32_t> from(64);
  for (uint32_t i = 0; i < 64; ++i) from[i] = i * i + 7;
  std::vector<uint32_t> into(64);
  ASSERT_TRUE(run("device", {1, 1, 1}, {from, into}, {11, 13, 17}));
  const auto own = [&](uint32_t i) { return 3 * from[i] + 2 + 11; };
  for (uint32_t i = 0; i < 64; ++i) ASSERT_EQ(into[i], 1000 * (own(63 - i) & 1U) + own(i) + 5 + 3 + 13 * 17) << i;
}

TEST_F(KernelDialect, ChangedNamesMeetNoOthers) {
  std::vector<uint32_t> items(128);
  for (uint32_t i = 0; i < 128; ++i) items[i] = i * i + 7;
  std::vector<uint32_t> y(64);
  ASSERT_TRUE(run("changed_names", {1, 1, 1}, {items, y}, {3, 5}));
  for (uint32_t i = 0; i < 64; ++i) {
    ASSERT_EQ(y[i], 1000 * 3 * (3 + items[2 * i]) + 5 * (5 + items[2 * i + 1])) << i;
  }
}

TEST_F(KernelDialect, BoundsOfPhasesAreWholeNumbers) {
  std::vector<uint32_t> y(64);
  ASSERT_TRUE(run("fractions", {1, 1, 1}, {y}, {std::bit_cast<uint32_t>(2.5F), std::bit_cast<uint32_t>(3.5F)}));
  for (uint32_t i = 0; i < 64; ++i) {
    const uint32_t expected = i % 8 >= 2 ? 0 : i / 8 < 3 ? 111 : 101;
    ASSERT_EQ(y[i], expected) << i;
  }
}

/// Numbers 0, 1, ... after the kernel, which takes runs of 256.
std::vector<uint32_t> reversed_by(const std::function<bool(std::vector<uint32_t>&)>& run) {
  std::vector<uint32_t> numbers(4096);
  std::iota(numbers.begin(), numbers.end(), 0U);
  EXPECT_TRUE(run(numbers));
  return numbers;
}

TEST_F(KernelDialect, ABarrierOrdersWorkgroupMemory) {
  const auto got = reversed_by([&](auto& numbers) { return run("reverse_runs", {16, 1, 1}, {numbers}, {}); });
  for (uint32_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], i / 256 * 256 + 255 - i % 256);
}

TEST_F(KernelDialect, AMissingBarrierIsCaughtWhereThreadsRunOnTheirOwn) {
  const auto run_kernel = [&](auto& numbers) { return run("reverse_runs_without_barrier", {16, 1, 1}, {numbers}, {}); };
  const auto got = reversed_by(run_kernel);
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < got.size(); ++i) wrong += got[i] == i / 256 * 256 + 255 - i % 256 ? 0 : 1;
  // A CPU's phase is over for all threads before the next one begins, so that it cannot show the mistake.
  if (is_vulkan()) {
    EXPECT_GT(wrong, 0U);
  } else if (is_host()) {
    EXPECT_EQ(wrong, 0U);
  }
}

TEST_F(KernelDialect, RecordsSayWhatTheListSays) {
  const KernelInfo& holes = info("holes");
  ASSERT_EQ(holes.bindings.size(), 3U);
  EXPECT_EQ(holes.bindings[0].binding, 2U);
  EXPECT_EQ(holes.bindings[1].set, 1U);
  EXPECT_EQ(holes.bindings[2].set, 1U);
  EXPECT_EQ(holes.bindings[2].binding, 6U);
  EXPECT_TRUE(holes.opaque && holes.may_alias);
  EXPECT_EQ(holes.bindings[2].access, Access::out);
  const KernelInfo& numbers = info("numbers");
  EXPECT_EQ(numbers.workgroup, (std::array<uint32_t, 3>{4, 3, 2}));
  EXPECT_EQ(numbers.shared_bytes, 96U);
  EXPECT_EQ(numbers.constant_bytes, 16U);
  ASSERT_EQ(numbers.constants.size(), 2U);
  EXPECT_EQ(numbers.constants[0].size, 12U);
  EXPECT_EQ(numbers.constants[1].offset, 12U);
  EXPECT_EQ(info("halves").bindings[0].element_size, 2U);
  EXPECT_EQ(info("wide").bindings[1].element_size, 16U);
  EXPECT_TRUE(info("nothing").bindings.empty());
}

TEST_F(KernelDialect, ConstantBlocksOfAnySizeArrive) {
  for (const uint32_t words : {32U, 33U, 256U}) {
    std::vector<uint32_t> weights(words);
    for (uint32_t i = 0; i < words; ++i) weights[i] = i * 2654435761U + 5;
    std::vector<uint32_t> x(128);
    std::iota(x.begin(), x.end(), 1000U);
    std::vector<uint32_t> y(x.size());
    ASSERT_TRUE(run("weigh_" + std::to_string(words), {2, 1, 1}, {x, y}, weights));
    for (uint32_t at = 0; at < x.size(); ++at) {
      uint32_t sum = 0;
      for (uint32_t i = 0; i < words; ++i) sum = sum * 3 + weights[i] * (x[at] + i);
      ASSERT_EQ(y[at], sum) << words << " words, at " << at;
    }
  }
}

TEST_F(KernelDialect, BuffersMayStartAtAnyByte) {
  constexpr uint32_t n = 100;
  std::vector<std::byte> from(n * 16 + 16);
  std::vector<std::byte> into(n * 16 + 16);
  for (size_t offset = 0; offset < 16; ++offset) {
    std::array<uint32_t, 4 * n> values{};
    for (uint32_t i = 0; i < values.size(); ++i) values[i] = i;
    std::memcpy(from.data() + offset, values.data(), sizeof(values));
    ASSERT_TRUE(run("wide", {groups_for(n), 1, 1},
                    {std::span(from).subspan(offset, n * 16), std::span(into).subspan(15 - offset, n * 16)}, {n}));
    std::array<float, 4 * n> results{};
    std::memcpy(results.data(), into.data() + 15 - offset, sizeof(results));
    for (uint32_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(results[i], static_cast<float>(i) * static_cast<float>(i % 4 + 1));
    }
  }
}

}  // namespace
}  // namespace pianola::kernel_test
