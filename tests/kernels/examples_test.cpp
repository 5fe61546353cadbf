// SPDX-License-Identifier: Apache-2.0
// The kernels of examples/kernels on one target, against plain loops: integers are equal, floats within rounding.
#include <cmath>
#include <numeric>
#include <random>

#include "example_kernel_image.hpp"
#include "fixture.hpp"

namespace pianola::kernel_test {
namespace {

class ExampleKernels : public KernelTest {
 protected:
  ExampleKernels() : KernelTest(KernelLibrary::from_bytes(example_kernel_image())) {}
};

std::vector<float> noise(size_t count) {
  std::minstd_rand random(1);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random() % 1000) / 500.0F - 1.0F;
  return values;
}

/// Sums of `terms` products of numbers up to 1, in whatever order: each addition rounds once.
void expect_near(std::span<const float> got, std::span<const double> right, size_t terms) {
  const double bound = static_cast<double>(terms * terms) * 0x1p-24;
  for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], right[i], bound) << i;
}

TEST_F(ExampleKernels, Saxpy) {
  constexpr uint32_t n = 1000;
  std::vector<float> x = noise(n);
  std::vector<float> y(n, 0.25F);
  ASSERT_TRUE(run("saxpy", {groups_for(n, 256), 1, 1}, {x, y}, {std::bit_cast<uint32_t>(0.75F), n}));
  for (uint32_t i = 0; i < n; ++i) ASSERT_NEAR(y[i], 0.75 * x[i] + 0.25, 0x1p-23);
}

TEST_F(ExampleKernels, Convolution) {
  for (const int width : {1, 2, 3, 64, 66, 200}) {
    const int height = width % 5 + 1;
    std::vector<float> pixels = noise(static_cast<size_t>(width * height));
    std::vector<float> weights = noise(9);
    std::vector<double> right(pixels.size());
    for (int i = 0; i < width * height * 9; ++i) {
      const int from_x = std::clamp(i / 9 % width + i % 3 - 1, 0, width - 1);
      const int from_y = std::clamp(i / 9 / width + i % 9 / 3 - 1, 0, height - 1);
      right[static_cast<size_t>(i / 9)] += static_cast<double>(weights[static_cast<size_t>(i % 9)]) *
                                           pixels[static_cast<size_t>(from_y * width + from_x)];
    }
    std::vector<float> result(pixels.size());
    const auto w = static_cast<uint32_t>(width);
    const auto h = static_cast<uint32_t>(height);
    ASSERT_TRUE(run("convolve3x3", {groups_for(w, 64), groups_for(h, 4), 1}, {pixels, weights, result}, {w, h}));
    expect_near(result, right, 9);
  }
}

TEST_F(ExampleKernels, Reduction) {
  constexpr uint32_t n = 5000;
  std::vector<float> numbers = noise(n);
  std::vector<float> sums(groups_for(n, 2048));
  std::vector<double> right(sums.size());
  for (size_t i = 0; i < n; ++i) right[i / 2048] += numbers[i];
  ASSERT_TRUE(run("sum_runs", {groups_for(n, 2048), 1, 1}, {numbers, sums}, {n}));
  expect_near(sums, right, 100);
}

TEST_F(ExampleKernels, MatrixProduct) {
  constexpr uint32_t m = 37;
  constexpr uint32_t n = 50;
  constexpr uint32_t k = 45;
  std::vector<float> a = noise(size_t{m} * k);
  std::vector<float> b = noise(size_t{k} * n);
  std::vector<float> c(size_t{m} * n);
  std::vector<double> right(c.size());
  for (uint32_t i = 0; i < m * n * k; ++i) {
    right[i / k] += static_cast<double>(a[i / k / n * k + i % k]) * b[i % k * n + i / k % n];
  }
  ASSERT_TRUE(run("multiply", {groups_for(n, 16), groups_for(m, 16), 1}, {a, b, c}, {m, n, k}));
  expect_near(c, right, k);
}

TEST_F(ExampleKernels, PrefixSum) {
  constexpr uint32_t n = 10'000;
  constexpr uint32_t runs = (n + 255) / 256;
  std::vector<uint32_t> numbers(n);
  for (uint32_t i = 0; i < n; ++i) numbers[i] = i * 2654435761U;
  std::vector<uint32_t> right(n);
  std::inclusive_scan(numbers.begin(), numbers.end(), right.begin());
  std::vector<uint32_t> totals(runs);
  std::vector<uint32_t> rest(1);
  ASSERT_TRUE(run("scan_runs", {runs, 1, 1}, {numbers, totals}, {n}));
  ASSERT_TRUE(run("scan_runs", {1, 1, 1}, {totals, rest}, {runs}));
  ASSERT_TRUE(run("add_totals", {runs, 1, 1}, {numbers, totals}, {n}));
  EXPECT_EQ(numbers, right);
}

TEST_F(ExampleKernels, Histogram) {
  std::vector<uint8_t> bytes(12'345);
  std::vector<uint32_t> right(256);
  std::minstd_rand random(2);
  for (uint8_t& byte : bytes) ++right[byte = static_cast<uint8_t>(random() % 251)];
  std::vector<uint32_t> counts(256);
  const auto n = static_cast<uint32_t>(bytes.size());
  ASSERT_TRUE(run("count_bytes", {groups_for(n, 4096), 1, 1}, {bytes, counts}, {n}));
  EXPECT_EQ(counts, right);
}

}  // namespace
}  // namespace pianola::kernel_test
