// SPDX-License-Identifier: Apache-2.0
// Kernels in phases on the CPU beside the loops one would write by hand, on one core and the same memory.
// `kernel/NAME/phases` replays a recorded dispatch, `kernel/NAME/plain` is the loop, `kernel/NAME/against_plain` is
// both by turns; the ratio of their times is the price of the dialect and of submitting.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench_example_kernels.hpp"
#include "pianola/device.hpp"
#include "pianola/recorder.hpp"
#include "take_turns.hpp"

namespace {

using Floats = std::vector<float>;
using Memory = std::vector<std::span<float>>;  ///< one a buffer

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
  void (*plain)(const Memory& buffers);
};

/// The kernel as a graph, and the memory that it works on, which is the plain loop's too: how memory is aligned and
/// where its pages lie changes the time of a short loop by a tenth to a third.
struct Setup {
  pianola::Queue queue;
  pianola::Graph graph;
  std::vector<pianola::Buffer> buffers;
  Memory memory;

  bool replay() const {
    const auto submission = queue.submit(graph);
    return submission && submission->wait();
  }
};

pianola::Result<Setup> make_setup(const Work& work) {
  const auto device = pianola::Device::open("cpu", {.threads = 1});
  if (!device) return device.error();
  auto library = pianola::KernelLibrary::from_bytes(bench_example_kernels());
  if (!library) return library.error();
  Setup setup;
  setup.queue = device->queue();
  pianola::Recorder recorder;
  pianola::Dispatch dispatch{.groups = work.groups};
  const auto& words = work.constants;
  dispatch.constants = pianola::Constants::from_bytes(std::as_bytes(std::span(words)));
  for (const Floats& values : work.buffers) {
    auto buffer = device->allocate(values.size() * sizeof(float));
    if (!buffer) return buffer.error();
    if (auto ok = buffer->write(0, values); !ok) return ok.error();
    dispatch.bindings.push_back(recorder.buffer(*buffer));
    setup.memory.emplace_back(static_cast<float*>(buffer->native_pointer()), values.size());
    setup.buffers.push_back(std::move(*buffer));
  }
  recorder.dispatch((*library)[work.kernel], dispatch);
  const auto commands = recorder.finish();
  if (!commands) return commands.error();
  auto graph = device->instantiate(*commands);
  if (!graph) return graph.error();
  setup.graph = std::move(*graph);
  return setup;
}

void run_plain(const Work& work, const Setup& setup) {
  work.plain(setup.memory);
  benchmark::DoNotOptimize(setup.memory.back().data());
  benchmark::ClobberMemory();
}

void plain_saxpy(const Memory& buffers) {
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
void plain_convolve(const Memory& buffers) {
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
void plain_sum(const Memory& buffers) {
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

void plain_multiply(const Memory& buffers) {
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

void phases(benchmark::State& state, const Setup& setup, const Work& /*work*/) {
  for (auto _ : state) {
    if (!setup.replay()) return state.SkipWithError("replay failed");
  }
}

void plain(benchmark::State& state, const Setup& setup, const Work& work) {
  for (auto _ : state) run_plain(work, setup);
}

void against_plain(benchmark::State& state, const Setup& setup, const Work& work) {
  const auto by_hand = [&] {
    run_plain(work, setup);
    return true;
  };
  bench::take_turns(state, [&] { return setup.replay(); }, by_hand, [] { return true; });
}

using Way = void (*)(benchmark::State& state, const Setup& setup, const Work& work);

void run(benchmark::State& state, Way way, Work (*make)()) {
  const Work work = make();
  const auto setup = make_setup(work);
  if (!setup) return state.SkipWithError(pianola::to_string(setup.error()).c_str());
  way(state, *setup, work);
}

const bool registered = [] {
  const std::pair<std::string, Work (*)()> kernels[] = {
      {"saxpy", saxpy}, {"convolution", convolution}, {"reduction", reduction}, {"matrix", matrix}};
  for (const auto& [name, make] : kernels) {
    benchmark::RegisterBenchmark(("kernel/" + name + "/phases").c_str(), run, phases, make);
    benchmark::RegisterBenchmark(("kernel/" + name + "/plain").c_str(), run, plain, make);
    benchmark::RegisterBenchmark(("kernel/" + name + "/against_plain").c_str(), run, against_plain, make)
        ->UseManualTime();
  }
  return true;
}();

}  // namespace
