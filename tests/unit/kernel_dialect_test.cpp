// SPDX-License-Identifier: Apache-2.0
// The portable dialect on the host, each architecture against plain C++. The floats' bounds are those of
// docs/kernels.md.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "dialect_kernel_image.hpp"
#include "kernel_host_object.hpp"

namespace pianola {
namespace {

class KernelDialect : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(library_) << to_string(library_.error());
    object_.emplace(*library_, GetParam());
    ASSERT_TRUE(object_->is_loaded());
  }
  bool run(const std::string& name, std::array<uint32_t, 3> groups, std::vector<void*> buffers,
           const std::vector<uint32_t>& constants) {
    return object_->run(name, groups, std::move(buffers), constants);
  }
  const KernelInfo& info(std::string_view name) { return library_->kernels()[library_->find(name).value()]; }

  Result<KernelLibrary> library_ = KernelLibrary::from_bytes(dialect_kernel_image());
  std::optional<HostObject> object_;
};

uint32_t groups_for(size_t n) {
  return static_cast<uint32_t>((n + 63) / 64);
}

/// Distance in units of the last place of the right value.
double ulps(float got, double right) {
  if (std::isnan(right)) return std::isnan(got) ? 0 : 1e9;
  const auto rounded = static_cast<float>(right);
  if (std::isinf(rounded) || std::isinf(got)) return got == rounded ? 0 : 1e9;
  const float next = std::nextafter(std::fabs(rounded), std::numeric_limits<float>::infinity());
  return std::fabs(got - right) / (next - std::fabs(rounded));
}

struct FunctionCase {
  const char* name;
  double (*right)(double);
  float low;
  float high;
  double max_ulps;
  double max_error;  ///< absolute; either bound is enough
};

const FunctionCase functions[] = {
    {"exp", [](double x) { return std::exp(x); }, -87.0F, 88.5F, 2, 0},
    {"log", [](double x) { return std::log(x); }, 1e-38F, 3e38F, 2, 0},
    {"sin", [](double x) { return std::sin(x); }, -8192.0F, 8192.0F, 2, 3e-7},
    {"cos", [](double x) { return std::cos(x); }, -8192.0F, 8192.0F, 2, 3e-7},
    {"tanh", [](double x) { return std::tanh(x); }, -20.0F, 20.0F, 3, 0},
    {"sqrt", [](double x) { return std::sqrt(x); }, 0.0F, 3e38F, 0.5, 0},
    {"rsqrt", [](double x) { return 1 / std::sqrt(x); }, 1e-38F, 3e38F, 2, 0},
    {"floor", [](double x) { return std::floor(x); }, -1e10F, 1e10F, 0, 0},
    {"round", [](double x) { return std::nearbyint(x); }, -1e10F, 1e10F, 0, 0},
    {"abs", [](double x) { return std::fabs(x); }, -3e38F, 3e38F, 0, 0},
    {"pow", [](double x) { return std::pow(std::fabs(x), 1.75); }, 1e-6F, 1e6F, 64, 0},
};

std::vector<float> values_between(float low, float high) {
  std::minstd_rand random(1);
  std::vector<float> values = {low, high, low / 2 + high / 2};
  const bool positive = low >= 0;
  while (values.size() < 20000) {
    const double part = static_cast<double>(random()) / std::minstd_rand::max();
    // Evenly, and evenly in the exponent.
    const double even = low + part * (static_cast<double>(high) - low);
    const double magnitude = std::exp2(-20 + part * (20 + std::log2(high)));
    values.push_back(static_cast<float>(even));
    if (magnitude >= low) values.push_back(static_cast<float>(magnitude));
    if (!positive && -magnitude >= low) values.push_back(static_cast<float>(-magnitude));
  }
  for (const float special : {0.5F, 1.5F, 2.5F, -0.5F, -1.5F, 8388609.0F, 1.0F, 2.0F}) {
    if (special >= low && special <= high) values.push_back(special);
  }
  return values;
}

TEST_P(KernelDialect, FunctionsAreAsAccurateAsStated) {
  size_t index = 0;
  for (const FunctionCase& function : functions) {
    std::vector<float> values = values_between(function.low, function.high);
    const size_t n = values.size();
    std::vector<float> results(n * std::size(functions));
    ASSERT_TRUE(run("functions", {groups_for(n), 1, 1}, {values.data(), results.data()}, {static_cast<uint32_t>(n)}));
    double worst = 0;
    float worst_at = 0;
    for (size_t i = 0; i < n; ++i) {
      const double right = function.right(values[i]);
      const float got = results[index * n + i];
      if (std::fabs(got - right) <= function.max_error) continue;
      if (const double error = ulps(got, right); error > worst) {
        worst = error;
        worst_at = values[i];
      }
    }
    EXPECT_LE(worst, function.max_ulps) << function.name << " at " << worst_at;
    ++index;
  }
}

TEST_P(KernelDialect, FunctionsKeepInfinitiesZerosAndNotANumber) {
  const float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> values = {infinity, -infinity, 0.0F, std::nanf(""), -1.0F, 200.0F, -200.0F};
  const size_t n = values.size();
  std::vector<float> results(n * std::size(functions));
  ASSERT_TRUE(run("functions", {1, 1, 1}, {values.data(), results.data()}, {static_cast<uint32_t>(n)}));
  const auto exp = [&](size_t i) { return results[i]; };
  const auto log = [&](size_t i) { return results[n + i]; };
  const auto tanh = [&](size_t i) { return results[4 * n + i]; };
  EXPECT_EQ(exp(0), infinity);
  EXPECT_EQ(exp(1), 0.0F);
  EXPECT_EQ(exp(2), 1.0F);
  EXPECT_TRUE(std::isnan(exp(3)));
  EXPECT_EQ(exp(5), infinity);
  EXPECT_EQ(exp(6), 0.0F);
  EXPECT_EQ(log(0), infinity);
  EXPECT_EQ(log(2), -infinity);
  EXPECT_TRUE(std::isnan(log(1)) && std::isnan(log(3)) && std::isnan(log(4)));
  EXPECT_EQ(tanh(0), 1.0F);
  EXPECT_EQ(tanh(1), -1.0F);
  EXPECT_EQ(tanh(2), 0.0F);
}

/// IEEE binary16 by its definition.
float half_value(uint32_t bits) {
  const double sign = (bits & 0x8000U) != 0 ? -1 : 1;
  const uint32_t exponent = (bits >> 10U) & 31U;
  const uint32_t fraction = bits & 1023U;
  if (exponent == 31) return fraction == 0 ? static_cast<float>(sign) * INFINITY : NAN;
  if (exponent == 0) return static_cast<float>(sign * fraction * std::exp2(-24));
  return static_cast<float>(sign * (1024 + fraction) * std::exp2(static_cast<int>(exponent) - 25));
}

TEST_P(KernelDialect, EveryHalfIsReadAndStoredExactly) {
  constexpr uint32_t n = 65536;
  std::vector<uint16_t> from(n);
  std::vector<float> wide(n);
  std::vector<float> values(n);
  std::vector<uint16_t> narrow(n);
  for (uint32_t i = 0; i < n; ++i) {
    from[i] = static_cast<uint16_t>(i);
    values[i] = half_value(i);
  }
  ASSERT_TRUE(run("halves", {groups_for(n), 1, 1}, {from.data(), wide.data(), values.data(), narrow.data()}, {n}));
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

TEST_P(KernelDialect, StoringAHalfRoundsToTheNearestEven) {
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
  ASSERT_TRUE(run("halves", {groups_for(n), 1, 1}, {from.data(), wide.data(), values.data(), narrow.data()}, {n}));
  for (uint32_t i = 0; i < n; ++i) {
    const uint32_t low = i / 3;
    const uint32_t even = low + (low & 1U);
    const uint32_t right = i % 3 == 0 ? even : i % 3 == 1 ? low : low + 1;
    ASSERT_EQ(narrow[i], right) << values[i];
  }
}

TEST_P(KernelDialect, SmallIntegersAreStorage) {
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
  ASSERT_TRUE(run("small_integers", {groups_for(n), 1, 1},
                  {a.data(), b.data(), c.data(), d.data(), sums.data(), bytes.data(), shorts.data()}, {n}));
  for (uint32_t i = 0; i < n; ++i) {
    const int sum = a[i] + b[i] + c[i] + d[i];
    ASSERT_EQ(sums[i], sum);
    ASSERT_EQ(bytes[i], static_cast<uint8_t>(sum));
    ASSERT_EQ(shorts[i], static_cast<int16_t>(sum));
  }
}

TEST_P(KernelDialect, IntegerFunctionsAreExact) {
  constexpr uint32_t n = 130;
  std::vector<int> a(n);
  std::vector<uint32_t> b(n);
  for (uint32_t i = 0; i < n; ++i) {
    a[i] = static_cast<int>(i) - 60;
    b[i] = i;
  }
  std::vector<int> x(n);
  std::vector<uint32_t> y(n);
  ASSERT_TRUE(run("integers", {groups_for(n), 1, 1}, {a.data(), b.data(), x.data(), y.data()}, {n}));
  for (uint32_t i = 0; i < n; ++i) {
    ASSERT_EQ(x[i], std::clamp(a[i], -5, 7) + std::min(a[i], 3) * std::max(a[i], 2) + std::abs(a[i]));
    ASSERT_EQ(y[i], std::clamp(b[i], 5U, 70U) + std::min(b[i], 30U) * std::max(b[i], 20U));
  }
}

TEST_P(KernelDialect, AtomicsCountEveryThread) {
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
  ASSERT_TRUE(run("histogram", {groups_for(n), 1, 1}, {values.data(), bins.data(), extremes.data()}, {n}));
  EXPECT_EQ(bins, expected);
  EXPECT_EQ(extremes, right);
}

TEST_P(KernelDialect, ThreadsAreNumberedInThreeDimensions) {
  constexpr uint32_t width = 8;
  constexpr uint32_t height = 9;
  constexpr uint32_t depth = 4;
  std::vector<uint32_t> out(width * height * depth, 77);
  ASSERT_TRUE(run("numbers", {2, 3, 2}, {out.data()}, {3, 5, 7, width}));
  for (uint32_t i = 0; i < out.size(); ++i) {
    const uint32_t x = i % width;
    const uint32_t y = i / width % height;
    const uint32_t z = i / width / height;
    const uint32_t own = x % 4 + 4 * (y % 3) + 12 * (z % 2);
    ASSERT_EQ(out[i], own == 5 ? 77 : 3 * x + 5 * y + 7 * z + (23 - own) * 10) << x << " " << y << " " << z;
  }
}

TEST_P(KernelDialect, RecordsSayWhatTheListSays) {
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

TEST_P(KernelDialect, BuffersMayStartAtAnyByte) {
  constexpr uint32_t n = 100;
  std::vector<std::byte> from(n * 16 + 16);
  std::vector<std::byte> into(n * 16 + 16);
  for (size_t offset = 0; offset < 16; ++offset) {
    std::array<uint32_t, 4 * n> values{};
    for (uint32_t i = 0; i < values.size(); ++i) values[i] = i;
    std::memcpy(from.data() + offset, values.data(), sizeof(values));
    ASSERT_TRUE(run("wide", {groups_for(n), 1, 1}, {from.data() + offset, into.data() + 15 - offset}, {n}));
    std::array<float, 4 * n> results{};
    std::memcpy(results.data(), into.data() + 15 - offset, sizeof(results));
    for (uint32_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(results[i], static_cast<float>(i) * static_cast<float>(i % 4 + 1));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Host, KernelDialect, testing::ValuesIn(runnable_archs()), [](const auto& each) {
  std::string name = each.param;
  std::ranges::replace(name, '-', '_');
  return name;
});

}  // namespace
}  // namespace pianola
