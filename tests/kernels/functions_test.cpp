// SPDX-License-Identifier: Apache-2.0
// Every function of the dialect against long double. The bounds are those that docs/kernels.md states.
#include <cmath>
#include <limits>
#include <random>

#include "dialect_kernel_image.hpp"
#include "fixture.hpp"

namespace pianola::kernel_test {
namespace {

class KernelFunctions : public KernelTest {
 protected:
  KernelFunctions() : KernelTest(KernelLibrary::from_bytes(dialect_kernel_image())) {}
};

using Number = long double;

/// How far a result may lie from the right one: units in its last place, more for each unit of `scale`, or `absolute`.
struct Bound {
  Number ulps = 0;
  Number ulps_per_scale = 0;
  Number absolute = 0;
};

struct Function {
  const char* name;
  Number (*right)(Number x, Number y);
  float low, high;  ///< where the C++ targets are tested
  Bound bound;
  Bound metal_bound;  ///< of the Metal Shading Language Specification, table 8.1
  float vulkan_low, vulkan_high;
  Bound vulkan_bound;  ///< of the Vulkan specification, "Precision and Operation of SPIR-V Instructions"
  Number (*scale)(Number x, Number y) = nullptr;
};

constexpr float huge = 3e38F;
constexpr float tiny = 1.2e-38F;
constexpr float pi = 3.14159265F;
constexpr Number from_half_to_two = 4.76837158203125e-7L;  // 2^-21
constexpr Number sine_error = 4.8828125e-4L;               // 2^-11

Number magnitude(Number x, Number) {
  return std::fabs(x);
}

const Function functions[] = {
    {"exp", [](Number x, Number) { return std::exp(x); }, -87, 88.5, {2}, {4}, -87, 88.5, {3, 2}, magnitude},
    {"log", [](Number x, Number) { return std::log(x); }, tiny, huge, {2}, {4}, tiny, huge, {3, 0, from_half_to_two}},
    {"sin", [](Number x, Number) { return std::sin(x); }, -8192, 8192, {2, 0, 3e-7L}, {4}, -pi, pi, {0, 0, sine_error}},
    {"cos", [](Number x, Number) { return std::cos(x); }, -8192, 8192, {2, 0, 3e-7L}, {4}, -pi, pi, {0, 0, sine_error}},
    // Its accuracy is not stated for Vulkan; this is what exp leads to.
    {"tanh", [](Number x, Number) { return std::tanh(x); }, -20, 20, {3}, {5}, -20, 20, {8, 2, 1e-6L}, magnitude},
    {"sqrt", [](Number x, Number) { return std::sqrt(x); }, 0, huge, {0.5L}, {0.5L}, tiny, huge, {4.5L}},
    {"rsqrt", [](Number x, Number) { return 1 / std::sqrt(x); }, tiny, huge, {2}, {0.5L}, tiny, huge, {2}},
    {"floor", [](Number x, Number) { return std::floor(x); }, -1e10F, 1e10F, {}, {}, -1e10F, 1e10F, {}},
    {"round", [](Number x, Number) { return std::nearbyint(x); }, -1e10F, 1e10F, {}, {}, -1e10F, 1e10F, {}},
    {"abs", [](Number x, Number) { return std::fabs(x); }, -huge, huge, {}, {}, -huge, huge, {}},
};

Number exponent(Number x, Number y) {
  return std::fabs(y * std::log2(x)) + std::fabs(y);
}
Number product(Number x, Number y) {
  const Number right = std::fabs(std::fma(x, y, -x));
  return right == 0 ? 0 : std::fabs(x * y) / right;
}

// x and y lie between the bounds alike.
const Function functions_of_two[] = {
    {"pow", [](Number x, Number y) { return std::pow(x, y); }, 0.01F, 16, {3, 1}, {16}, 0.01F, 16, {3, 6}, exponent},
    // One rounding, or one of the product and one of the sum.
    {"fma", [](Number x, Number y) { return x * y - x; }, 0.01F, 16, {1, 1}, {0.5L}, 0.01F, 16, {1, 1}, product},
    {"min", [](Number x, Number y) { return std::min(x, y); }, 0.01F, 16, {}, {}, 0.01F, 16, {}},
    {"max", [](Number x, Number y) { return std::max(x, y); }, 0.01F, 16, {}, {}, 0.01F, 16, {}},
    {"clamp",
     [](Number x, Number y) {
       const float z = static_cast<float>(y);  // the limits are rounded as the kernel rounds them
       return std::clamp(x, Number{z - 1.0F}, Number{z + 1.0F});
     },
     0.01F,
     16,
     {},
     {},
     0.01F,
     16,
     {}},
};

/// Spread evenly, and evenly in the exponent, with the ends and some that lie half-way between whole numbers.
std::vector<float> values_between(float low, float high) {
  std::minstd_rand random(1);
  std::vector<float> values = {low, high, low / 2 + high / 2};
  while (values.size() < 20000) {
    const double part = static_cast<double>(random()) / std::minstd_rand::max();
    const double size = std::exp2(-20 + part * (20 + std::log2(high)));
    const double even = low + part * (static_cast<double>(high) - low);
    for (const double value : {even, size, -size}) {
      if (value >= low && value <= high) values.push_back(static_cast<float>(value));
    }
  }
  for (const float special : {0.5F, 1.5F, 2.5F, -0.5F, -1.5F, 8388609.0F, 1.0F, 2.0F}) {
    if (special >= low && special <= high) values.push_back(special);
  }
  return values;
}

/// How far the result lies from the right one, as a part of what is allowed; above 1 is too far.
Number part_of_bound(float got, Number right, const Bound& bound, Number scale) {
  const auto rounded = static_cast<float>(right);
  if (got == rounded) return 0;
  if (!std::isfinite(got)) return std::numeric_limits<Number>::infinity();
  const Number unit = std::nextafter(std::fabs(rounded), INFINITY) - std::fabs(rounded);
  const Number allowed = std::max((bound.ulps + bound.ulps_per_scale * scale) * unit, bound.absolute);
  return std::fabs(got - right) / allowed;
}

void expect_within(const Function& function, std::span<const float> x, std::span<const float> y,
                   std::span<const float> got) {
  const Bound& bound = is_vulkan() ? function.vulkan_bound : is_metal() ? function.metal_bound : function.bound;
  Number worst = 0;
  size_t worst_at = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const Number scale = function.scale == nullptr ? 0 : function.scale(x[i], y[i]);
    const Number part = part_of_bound(got[i], function.right(x[i], y[i]), bound, scale);
    if (part > worst) worst_at = i;
    worst = std::max(worst, part);
  }
  EXPECT_LE(worst, 1) << function.name << "(" << x[worst_at] << ", " << y[worst_at] << ") is " << got[worst_at];
  testing::Test::RecordProperty(function.name, std::to_string(worst));
}

TEST_F(KernelFunctions, OfOneNumberAreAsAccurateAsStated) {
  size_t row = 0;
  for (const Function& function : functions) {
    std::vector<float> x = is_vulkan() ? values_between(function.vulkan_low, function.vulkan_high)
                                       : values_between(function.low, function.high);
    const size_t n = x.size();
    std::vector<float> results(n * std::size(functions));
    ASSERT_TRUE(run("functions", {groups_for(n), 1, 1}, {x, results}, {static_cast<uint32_t>(n)}));
    expect_within(function, x, x, std::span(results).subspan(row++ * n, n));
  }
}

TEST_F(KernelFunctions, OfTwoAndThreeNumbersAreAsAccurateAsStated) {
  std::vector<float> x = values_between(functions_of_two[0].low, functions_of_two[0].high);
  std::vector<float> y = x;
  std::shuffle(y.begin(), y.end(), std::minstd_rand(2));
  const size_t n = x.size();
  std::vector<float> results(n * std::size(functions_of_two));
  ASSERT_TRUE(run("functions_of_two", {groups_for(n), 1, 1}, {x, y, results}, {static_cast<uint32_t>(n)}));
  size_t row = 0;
  for (const Function& function : functions_of_two) {
    expect_within(function, x, y, std::span(results).subspan(row++ * n, n));
  }
}

TEST_F(KernelFunctions, KeepInfinitiesZerosAndNotANumber) {
  if (is_vulkan()) GTEST_SKIP() << "Vulkan states nothing of infinities and not-a-numbers";
  const float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> values = {infinity, -infinity, 0.0F, std::nanf(""), -1.0F, 200.0F, -200.0F};
  const size_t n = values.size();
  std::vector<float> results(n * std::size(functions));
  ASSERT_TRUE(run("functions", {1, 1, 1}, {values, results}, {static_cast<uint32_t>(n)}));
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

}  // namespace
}  // namespace pianola::kernel_test
