// SPDX-License-Identifier: Apache-2.0
// Five classic kernels, each recorded, run on a device and compared with a plain loop.
// usage: kernels [DEVICE]
#include <pianola/pianola.hpp>

#include <cmath>
#include <cstdio>
#include <numeric>
#include <random>
#include <stdexcept>
#include <vector>

#include "example_kernels_image.hpp"

namespace {

using namespace pianola;  // value() throws the error that a failed call returned

void check(const Result<>& result) {
  if (!result) throw std::runtime_error(to_string(result.error()));
}

/// One kernel's way through: fill slots, run, read the result back.
struct Bench {
  Device device;
  KernelLibrary kernels;
  Recorder rec;
  std::vector<SlotBinding> bindings;
  std::vector<Buffer> buffers;

  template <class T>
  BufferRef slot(const char* name, const std::vector<T>& values) {
    const uint64_t size = values.size() * sizeof(T);
    Buffer buffer = device.allocate(size).value();
    check(buffer.write(0, values));
    BufferRef ref = rec.buffer(name, size);
    bindings.push_back({ref, buffer.view(0)});
    buffers.push_back(buffer);
    return ref;
  }

  template <class T>
  std::vector<T> run(BufferRef result, size_t count) {
    const CommandBuffer commands = rec.finish().value();
    check(device.queue().run(commands, {.bindings = bindings}).value().wait());
    std::vector<T> values(count);
    // Slots are numbered in the order in which they were made, as the buffers are.
    check(buffers[static_cast<size_t>(result.slot)].read(0, values));
    return values;
  }
};

std::vector<float> noise(size_t count) {
  std::minstd_rand random(1);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random() % 1000) / 500.0F - 1.0F;
  return values;
}

/// Worst difference, relative to the largest value.
double difference(const std::vector<float>& got, const std::vector<float>& expected) {
  double worst = 0;
  double scale = 1e-30;
  for (size_t i = 0; i < got.size(); ++i) {
    worst = std::fmax(worst, std::fabs(got[i] - expected[i]));
    scale = std::fmax(scale, std::fabs(expected[i]));
  }
  return worst / scale;
}

double convolution(Bench bench) {
  constexpr uint32_t width = 333;
  constexpr uint32_t height = 77;
  const std::vector<float> pixels = noise(width * height);
  const std::vector<float> weights = noise(9);
  std::vector<float> expected(width * height);
  for (int y = 0; y < int{height}; ++y) {
    for (int x = 0; x < int{width}; ++x) {
      float sum = 0;
      for (int i = 0; i < 9; ++i) {
        const int from_x = std::min(std::max(x + i % 3 - 1, 0), int{width} - 1);
        const int from_y = std::min(std::max(y + i / 3 - 1, 0), int{height} - 1);
        sum += weights[static_cast<size_t>(i)] * pixels[static_cast<size_t>(from_y) * width + from_x];
      }
      expected[static_cast<size_t>(y) * width + x] = sum;
    }
  }
  const BufferRef from = bench.slot("pixels", pixels);
  const BufferRef by = bench.slot("weights", weights);
  const BufferRef into = bench.slot("result", std::vector<float>(width * height));
  bench.rec.dispatch(
      bench.kernels["convolve3x3"],
      {.groups = {(width + 63) / 64, (height + 3) / 4}, .constants = {width, height}, .bindings = {from, by, into}});
  return difference(bench.run<float>(into, expected.size()), expected);
}

double reduction(Bench bench) {
  const std::vector<float> numbers = noise(100'000);
  const auto n = static_cast<uint32_t>(numbers.size());
  const uint32_t runs = (n + 2047) / 2048;
  std::vector<float> expected(runs);
  for (size_t i = 0; i < n; ++i) expected[i / 2048] += numbers[i];
  const BufferRef from = bench.slot("numbers", numbers);
  const BufferRef into = bench.slot("sums", std::vector<float>(runs));
  bench.rec.dispatch(bench.kernels["sum_runs"], {.groups = {runs}, .constants = {n}, .bindings = {from, into}});
  return difference(bench.run<float>(into, runs), expected);
}

double matrix_product(Bench bench) {
  constexpr uint32_t m = 70;
  constexpr uint32_t n = 50;
  constexpr uint32_t k = 90;
  const std::vector<float> a = noise(m * k);
  const std::vector<float> b = noise(k * n);
  std::vector<float> expected(m * n);
  for (uint32_t row = 0; row < m; ++row) {
    for (uint32_t i = 0; i < k; ++i) {
      for (uint32_t column = 0; column < n; ++column) expected[row * n + column] += a[row * k + i] * b[i * n + column];
    }
  }
  const BufferRef left = bench.slot("a", a);
  const BufferRef right = bench.slot("b", b);
  const BufferRef into = bench.slot("c", std::vector<float>(m * n));
  bench.rec.dispatch(
      bench.kernels["multiply"],
      {.groups = {(n + 15) / 16, (m + 15) / 16}, .constants = {m, n, k}, .bindings = {left, right, into}});
  return difference(bench.run<float>(into, expected.size()), expected);
}

double prefix_sum(Bench bench) {
  constexpr uint32_t n = 50'000;
  constexpr uint32_t runs = (n + 255) / 256;
  std::vector<uint32_t> numbers(n);
  for (uint32_t i = 0; i < n; ++i) numbers[i] = i % 13;
  std::vector<uint32_t> expected(n);
  std::inclusive_scan(numbers.begin(), numbers.end(), expected.begin());
  const BufferRef values = bench.slot("numbers", numbers);
  const BufferRef totals = bench.slot("totals", std::vector<uint32_t>(runs));
  const BufferRef rest = bench.slot("rest", std::vector<uint32_t>(1));
  bench.rec.dispatch(bench.kernels["scan_runs"], {.groups = {runs}, .constants = {n}, .bindings = {values, totals}})
      .barrier()
      .dispatch(bench.kernels["scan_runs"], {.groups = {1}, .constants = {runs}, .bindings = {totals, rest}})
      .barrier()
      .dispatch(bench.kernels["add_totals"], {.groups = {runs}, .constants = {n}, .bindings = {values, totals}});
  return bench.run<uint32_t>(values, n) == expected ? 0 : 1;
}

double histogram(Bench bench) {
  std::vector<uint8_t> bytes(123'457);
  std::vector<uint32_t> expected(256);
  std::minstd_rand random(2);
  for (uint8_t& byte : bytes) {
    byte = static_cast<uint8_t>(random() % 251);
    ++expected[byte];
  }
  const auto n = static_cast<uint32_t>(bytes.size());
  const BufferRef from = bench.slot("bytes", bytes);
  const BufferRef counts = bench.slot("counts", std::vector<uint32_t>(256, 9));
  bench.rec.fill(counts, 0U).barrier();
  bench.rec.dispatch(bench.kernels["count_bytes"],
                     {.groups = {(n + 4095) / 4096}, .constants = {n}, .bindings = {from, counts}});
  return bench.run<uint32_t>(counts, 256) == expected ? 0 : 1;
}

int run(const char* spec) {
  const Device device = Device::open(spec).value();
  const KernelLibrary kernels = KernelLibrary::from_bytes(example_kernels_image()).value();
  struct Case {
    const char* name;
    double (*compute)(Bench);
  };
  int failures = 0;
  for (const Case& each : {Case{"3x3 convolution", convolution}, Case{"reduction", reduction},
                           Case{"tiled matrix product", matrix_product}, Case{"prefix sum", prefix_sum},
                           Case{"histogram with atomics", histogram}}) {
    const double error = each.compute({.device = device, .kernels = kernels, .rec = {}, .bindings = {}, .buffers = {}});
    std::printf("%-24s %s, relative difference %.1e\n", each.name, error < 1e-5 ? "right" : "WRONG", error);
    failures += error < 1e-5 ? 0 : 1;
  }
  return failures == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? argv[1] : "cpu");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "kernels: %s\n", error.what());
    return 1;
  }
}
