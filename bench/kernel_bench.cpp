// SPDX-License-Identifier: Apache-2.0
// Kernels in phases on the CPU beside the loops one would write by hand, on one core. `kernel/NAME/phases` replays a
// recorded dispatch; `kernel/NAME/plain` is the loop; the ratio of their times is the price of the dialect.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "bench_example_kernels.hpp"
#include "pianola/device.hpp"
#include "pianola/recorder.hpp"

namespace {

using Floats = std::vector<float>;

Floats noise(size_t count) {
  Floats values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i * 7919 % 1000) / 500.0F - 1.0F;
  return values;
}

/// A kernel's inputs, its output last, and how it is dispatched.
struct Work {
  const char* kernel;
  pianola::Groups groups;
  std::vector<uint32_t> constants;
  std::vector<Floats> buffers;
  void (*plain)(std::vector<Floats>& buffers);
};

pianola::Result<pianola::Graph> make_graph(const Work& work, const pianola::Device& device) {
  auto library = pianola::KernelLibrary::from_bytes(bench_example_kernels());
  if (!library) return library.error();
  pianola::Recorder recorder;
  pianola::Dispatch dispatch{.groups = work.groups};
  const auto& words = work.constants;
  dispatch.constants = pianola::Constants::from_bytes(std::as_bytes(std::span(words)));
  for (const Floats& values : work.buffers) {
    auto buffer = device.allocate(values.size() * sizeof(float));
    if (!buffer) return buffer.error();
    if (auto ok = buffer->write(0, values); !ok) return ok.error();
    dispatch.bindings.push_back(recorder.buffer(*buffer));
  }
  recorder.dispatch((*library)[work.kernel], dispatch);
  auto commands = recorder.finish();
  if (!commands) return commands.error();
  return device.instantiate(*commands);
}

void run_phases(benchmark::State& state, const Work& work) {
  const auto device = pianola::Device::open("cpu", {.threads = 1});
  const auto graph = device ? make_graph(work, *device) : pianola::Result<pianola::Graph>(device.error());
  if (!graph) {
    state.SkipWithError(pianola::to_string(graph.error()).c_str());
    return;
  }
  const pianola::Queue queue = device->queue();
  for (auto _ : state) {
    const auto submission = queue.submit(*graph);
    if (!submission || !submission->wait()) {
      state.SkipWithError("replay failed");
      return;
    }
  }
}

void run_plain(benchmark::State& state, Work work) {
  for (auto _ : state) {
    work.plain(work.buffers);
    benchmark::DoNotOptimize(work.buffers.back().data());
    benchmark::ClobberMemory();
  }
}

void plain_saxpy(std::vector<Floats>& buffers) {
  const float* __restrict x = buffers[0].data();
  float* __restrict y = buffers[1].data();
  const size_t n = buffers[0].size();
  for (size_t i = 0; i < n; ++i) y[i] = 2.0F * x[i] + y[i];
}

constexpr int width = 1920;
constexpr int height = 1080;

float tap(const float* pixels, const float* weights, int x, int y) {
  float sum = 0;
  for (int i = 0; i < 9; ++i) {
    const int from_x = std::clamp(x + i % 3 - 1, 0, width - 1);
    const int from_y = std::clamp(y + i / 3 - 1, 0, height - 1);
    sum += weights[i] * pixels[from_y * width + from_x];
  }
  return sum;
}

// The border apart, so that the inner loop vectorises.
void plain_convolve(std::vector<Floats>& buffers) {
  const float* __restrict pixels = buffers[0].data();
  const float* __restrict w = buffers[1].data();
  float* __restrict result = buffers[2].data();
  for (int y = 0; y < height; ++y) {
    float* __restrict out = result + y * width;
    if (y == 0 || y == height - 1) {
      for (int x = 0; x < width; ++x) out[x] = tap(pixels, w, x, y);
      continue;
    }
    const float* up = pixels + (y - 1) * width;
    const float* at = up + width;
    const float* down = at + width;
    out[0] = tap(pixels, w, 0, y);
    for (int x = 1; x < width - 1; ++x) {
      out[x] = w[0] * up[x - 1] + w[1] * up[x] + w[2] * up[x + 1] + w[3] * at[x - 1] + w[4] * at[x] + w[5] * at[x + 1] +
               w[6] * down[x - 1] + w[7] * down[x] + w[8] * down[x + 1];
    }
    out[width - 1] = tap(pixels, w, width - 1, y);
  }
}

// 32 sums side by side, since one alone would wait for each addition.
void plain_sum(std::vector<Floats>& buffers) {
  const float* __restrict numbers = buffers[0].data();
  for (size_t run = 0; run < buffers[1].size(); ++run) {
    float sums[32] = {};
    for (size_t i = 0; i < 2048; i += 32) {
      for (size_t k = 0; k < 32; ++k) sums[k] += numbers[run * 2048 + i + k];
    }
    float total = 0;
    for (const float sum : sums) total += sum;
    buffers[1][run] = total;
  }
}

// A function of its own: g++ keeps to __restrict in parameters only, and would look for overlaps at each inner loop.
void multiply(const float* __restrict a, const float* __restrict b, float* __restrict c) {
  constexpr size_t side = 256;
  std::fill_n(c, side * side, 0.0F);
  for (size_t row = 0; row < side; ++row) {
    for (size_t k = 0; k < side; ++k) {
      const float factor = a[row * side + k];
      for (size_t column = 0; column < side; ++column) c[row * side + column] += factor * b[k * side + column];
    }
  }
}

void plain_multiply(std::vector<Floats>& buffers) {
  multiply(buffers[0].data(), buffers[1].data(), buffers[2].data());
}

uint32_t bits_of(float value) {
  return std::bit_cast<uint32_t>(value);
}

Work saxpy() {
  constexpr uint32_t n = 32768;
  return {"saxpy", {n / 256}, {bits_of(2.0F), n}, {noise(n), noise(n)}, plain_saxpy};
}

Work convolution() {
  return {"convolve3x3",
          {(width + 63) / 64, (height + 3) / 4},
          {width, height},
          {noise(size_t{width} * height), noise(9), Floats(size_t{width} * height)},
          plain_convolve};
}

Work reduction() {
  constexpr uint32_t n = 131072;
  return {"sum_runs", {n / 2048}, {n}, {noise(n), Floats(n / 2048)}, plain_sum};
}

Work matrix() {
  constexpr uint32_t side = 256;
  return {"multiply",
          {side / 16, side / 16},
          {side, side, side},
          {noise(side * side), noise(side * side), Floats(side * side)},
          plain_multiply};
}

void phases(benchmark::State& state, Work (*make)()) {
  run_phases(state, make());
}
void plain(benchmark::State& state, Work (*make)()) {
  run_plain(state, make());
}

BENCHMARK_CAPTURE(phases, saxpy, saxpy)->Name("kernel/saxpy/phases");
BENCHMARK_CAPTURE(plain, saxpy, saxpy)->Name("kernel/saxpy/plain");
BENCHMARK_CAPTURE(phases, convolution, convolution)->Name("kernel/convolution/phases");
BENCHMARK_CAPTURE(plain, convolution, convolution)->Name("kernel/convolution/plain");
BENCHMARK_CAPTURE(phases, reduction, reduction)->Name("kernel/reduction/phases");
BENCHMARK_CAPTURE(plain, reduction, reduction)->Name("kernel/reduction/plain");
BENCHMARK_CAPTURE(phases, matrix, matrix)->Name("kernel/matrix/phases");
BENCHMARK_CAPTURE(plain, matrix, matrix)->Name("kernel/matrix/plain");

}  // namespace
