// SPDX-License-Identifier: Apache-2.0
// The example kernels' PTX beside plain CUDA C++ built by nvcc, on one GPU. Not part of the build:
//
//     clang-19 ... -S (see docs/kernels.md, or take the PTX out of a library)
//     nvcc -O3 -arch=sm_90 bench/gpu/kernels.cu -o kernels -lcuda && ./kernels kernels.ptx
//
// Each pair runs alternately; the figures are medians of single launches timed by events.
#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

namespace {

__global__ void __launch_bounds__(256) plain_saxpy(const float* __restrict__ x, float* __restrict__ y, float a,
                                                   unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaf(a, x[i], y[i]);
}

__global__ void __launch_bounds__(256) plain_convolve(const float* __restrict__ pixels,
                                                      const float* __restrict__ weights, float* __restrict__ result,
                                                      int width, int height) {
  const int x = blockIdx.x * 64 + threadIdx.x;
  const int y = blockIdx.y * 4 + threadIdx.y;
  if (x >= width || y >= height) return;
  float sum = 0;
  for (int dy = -1; dy <= 1; ++dy) {
    for (int dx = -1; dx <= 1; ++dx) {
      const int from_x = min(max(x + dx, 0), width - 1);
      const int from_y = min(max(y + dy, 0), height - 1);
      sum = fmaf(weights[(dy + 1) * 3 + dx + 1], pixels[from_y * width + from_x], sum);
    }
  }
  result[y * width + x] = sum;
}

__global__ void __launch_bounds__(256) plain_sum(const float* __restrict__ numbers, float* __restrict__ sums,
                                                 unsigned n) {
  __shared__ float tile[256];
  float sum = 0;
  for (unsigned piece = 0; piece < 8; ++piece) {
    const unsigned i = blockIdx.x * 2048 + piece * 256 + threadIdx.x;
    if (i < n) sum += numbers[i];
  }
  tile[threadIdx.x] = sum;
  __syncthreads();
  for (unsigned half = 128; half > 0; half >>= 1) {
    if (threadIdx.x < half) tile[threadIdx.x] += tile[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = tile[0];
}

__global__ void __launch_bounds__(256) plain_multiply(const float* __restrict__ a, const float* __restrict__ b,
                                                      float* __restrict__ c, unsigned m, unsigned n, unsigned k) {
  __shared__ float tile_a[16][16];
  __shared__ float tile_b[16][16];
  const unsigned x = threadIdx.x, y = threadIdx.y;
  const unsigned column = blockIdx.x * 16 + x, row = blockIdx.y * 16 + y;
  float sum = 0;
  for (unsigned start = 0; start < k; start += 16) {
    tile_a[y][x] = row < m && start + x < k ? a[row * k + start + x] : 0.0f;
    tile_b[y][x] = start + y < k && column < n ? b[(start + y) * n + column] : 0.0f;
    __syncthreads();
    for (unsigned i = 0; i < 16; ++i) sum = fmaf(tile_a[y][i], tile_b[i][x], sum);
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}

void check(int code, const char* what) {
  if (code == 0) return;
  std::fprintf(stderr, "%s failed with %d\n", what, code);
  std::exit(1);
}

float* device_floats(size_t count, bool noise) {
  std::vector<float> values(count);
  for (size_t i = 0; noise && i < count; ++i) values[i] = static_cast<float>(i * 7919 % 1000) / 500.0f - 1.0f;
  float* pointer = nullptr;
  check(cudaMalloc(&pointer, count * 4), "cudaMalloc");
  check(cudaMemcpy(pointer, values.data(), count * 4, cudaMemcpyHostToDevice), "cudaMemcpy");
  return pointer;
}

struct Pair {
  const char* name;
  std::function<void()> ours;
  std::function<void()> plain;
  float* ours_out;
  float* plain_out;
  size_t count;
};

double microseconds(const std::function<void()>& launch) {
  static cudaEvent_t start = nullptr, stop = nullptr;
  if (start == nullptr) {
    check(cudaEventCreate(&start), "event");
    check(cudaEventCreate(&stop), "event");
  }
  constexpr int repeats = 20;
  check(cudaEventRecord(start), "record");
  for (int i = 0; i < repeats; ++i) launch();
  check(cudaEventRecord(stop), "record");
  check(cudaEventSynchronize(stop), "synchronize");
  float ms = 0;
  check(cudaEventElapsedTime(&ms, start, stop), "elapsed");
  return ms * 1000 / repeats;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void compare(const Pair& pair) {
  std::vector<double> ours, plain;
  for (int i = 0; i < 60; ++i) {
    ours.push_back(microseconds(pair.ours));
    plain.push_back(microseconds(pair.plain));
  }
  std::vector<float> a(pair.count), b(pair.count);
  check(cudaMemcpy(a.data(), pair.ours_out, pair.count * 4, cudaMemcpyDeviceToHost), "copy");
  check(cudaMemcpy(b.data(), pair.plain_out, pair.count * 4, cudaMemcpyDeviceToHost), "copy");
  size_t different = 0;
  for (size_t i = 0; i < pair.count; ++i) different += a[i] == b[i] ? 0 : 1;
  std::printf("%-10s ours %9.2f us  nvcc %9.2f us  ratio %.3f  %zu of %zu values differ\n", pair.name, median(ours),
              median(plain), median(ours) / median(plain), different, pair.count);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  check(cudaFree(nullptr), "cudaFree");
  std::ifstream file(argv[1]);
  const std::string ptx((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  CUmodule module = nullptr;
  check(cuModuleLoadData(&module, ptx.c_str()), "cuModuleLoadData");
  const auto launch = [&](const char* name, unsigned gx, unsigned gy, unsigned bx, unsigned by,
                          std::vector<void*> arguments) {
    CUfunction function = nullptr;
    check(cuModuleGetFunction(&function, module, name), name);
    check(cuLaunchKernel(function, gx, gy, 1, bx, by, 1, 0, nullptr, arguments.data(), nullptr), name);
  };
  unsigned n = 1u << 26;
  float a = 1e-6f;
  float* x = device_floats(n, true);
  float* y1 = device_floats(n, true);
  float* y2 = device_floats(n, true);
  compare({"saxpy", [&] { launch("saxpy", n / 256, 1, 256, 1, {&x, &y1, &a, &n}); },
           [&] { plain_saxpy<<<n / 256, 256>>>(x, y2, a, n); }, y1, y2, n});
  unsigned width = 4096, height = 4096;
  float* weights = device_floats(9, true);
  compare({"conv3x3",
           [&] { launch("convolve3x3", width / 64, height / 4, 64, 4, {&x, &weights, &y1, &width, &height}); },
           [&] { plain_convolve<<<dim3(width / 64, height / 4), dim3(64, 4)>>>(x, weights, y2, width, height); }, y1,
           y2, size_t{width} * height});
  compare({"reduction", [&] { launch("sum_runs", n / 2048, 1, 256, 1, {&x, &y1, &n}); },
           [&] { plain_sum<<<n / 2048, 256>>>(x, y2, n); }, y1, y2, n / 2048});
  for (unsigned side : {256u, 2048u}) {
    unsigned m = side, k = side, columns = side;
    compare({side == 256 ? "matrix256" : "matrix2k",
             [&] { launch("multiply", side / 16, side / 16, 16, 16, {&x, &x, &y1, &m, &columns, &k}); },
             [&] { plain_multiply<<<dim3(side / 16, side / 16), dim3(16, 16)>>>(x, x, y2, m, columns, k); }, y1, y2,
             size_t{side} * side});
  }
  return 0;
}
