// SPDX-License-Identifier: Apache-2.0
// The dialect's functions in C++ (host, PTX, AMDGPU). Part of pianola/kernel.h. docs/kernels.md states accuracies.
// Written without branches and calls, so that a phase that uses them still vectorises; the same on every C++ target,
// but for fused multiply-adds. Polynomials are those of Cephes (S. Moshier), single precision.
#pragma once

FN int min(int a, int b) {
  return a < b ? a : b;
}
FN int max(int a, int b) {
  return a > b ? a : b;
}
FN uint min(uint a, uint b) {
  return a < b ? a : b;
}
FN uint max(uint a, uint b) {
  return a > b ? a : b;
}
FN float min(float a, float b) {
  return a < b ? a : b;
}
FN float max(float a, float b) {
  return a > b ? a : b;
}
FN int clamp(int value, int low, int high) {
  return min(max(value, low), high);
}
FN uint clamp(uint value, uint low, uint high) {
  return min(max(value, low), high);
}
FN float clamp(float value, float low, float high) {
  return min(max(value, low), high);
}
FN int abs(int value) {
  return value < 0 ? -value : value;
}
FN float abs(float value) {
  return __builtin_fabsf(value);
}

// Fused where the target has the instruction.
#if defined(PIANOLA_KERNEL_PTX) || defined(PIANOLA_KERNEL_AMDGPU) || defined(__FMA__) || defined(__aarch64__)
FN float fma(float a, float b, float c) {
  return __builtin_fmaf(a, b, c);
}
#else
FN float fma(float a, float b, float c) {
  return a * b + c;
}
#endif

FN float sqrt(float value) {
  return __builtin_sqrtf(value);
}
#if defined(PIANOLA_KERNEL_PTX)
FN float rsqrt(float value) {
  return __nvvm_rsqrt_approx_f(value);
}
#elif defined(PIANOLA_KERNEL_AMDGPU)
FN float rsqrt(float value) {
  return __builtin_amdgcn_rsqf(value);
}
#else
FN float rsqrt(float value) {
  return 1.0f / __builtin_sqrtf(value);
}
#endif

#if defined(__SSE4_1__) || !defined(__x86_64__) || defined(PIANOLA_KERNEL_PTX) || defined(PIANOLA_KERNEL_AMDGPU)
FN float floor(float value) {
  return __builtin_floorf(value);
}
FN float round(float value) {
  return __builtin_roundevenf(value);
}
#else
// Above 2^23 every float is whole.
FN float round(float value) {
  const float magnitude = abs(value);
  const float rounded = (magnitude + 8388608.0f) - 8388608.0f;
  return __builtin_copysignf(magnitude < 8388608.0f ? rounded : magnitude, value);
}
FN float floor(float value) {
  const float rounded = round(value);
  return rounded > value ? rounded - 1.0f : rounded;
}
#endif

namespace pianola_kernel {

// 2^n for -126 <= n <= 127.
FN float power_of_two(int n) {
  return __builtin_bit_cast(float, uint(n + 127) << 23);
}

// The whole number nearest to a value below 2^22 in magnitude.
FN float nearest(float value) {
  return (value + 12582912.0f) - 12582912.0f;
}

}  // namespace pianola_kernel

FN float exp(float value) {
  const float x = clamp(value, -104.0f, 89.0f);
  const float n = pianola_kernel::nearest(x * 1.44269504088896341f);
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  const float y = p * r * r + r + 1.0f;
  // In two steps, since the result may be infinite or below the normal range.
  const int half_n = int(n) >> 1;
  const float result = y * pianola_kernel::power_of_two(half_n) * pianola_kernel::power_of_two(int(n) - half_n);
  return value == value ? result : value;
}

FN float log(float value) {
  const bool tiny = value < 1.17549435e-38f;
  const float x = tiny ? value * 8388608.0f : value;
  // x = m * 2^e with m from sqrt(1/2) to sqrt(2).
  const int shifted = __builtin_bit_cast(int, x) - 0x3f3504f3;
  const float e = float((shifted >> 23) - (tiny ? 23 : 0));
  const float f = __builtin_bit_cast(float, (shifted & 0x7fffff) + 0x3f3504f3) - 1.0f;
  const float z = f * f;
  float p = 7.0376836292e-2f;
  p = p * f - 1.1514610310e-1f;
  p = p * f + 1.1676998740e-1f;
  p = p * f - 1.2420140846e-1f;
  p = p * f + 1.4249322787e-1f;
  p = p * f - 1.6668057665e-1f;
  p = p * f + 2.0000714765e-1f;
  p = p * f - 2.4999993993e-1f;
  p = p * f + 3.3333331174e-1f;
  const float y = p * f * z - 2.12194440e-4f * e - 0.5f * z;
  const float result = f + y + 0.693359375f * e;
  const float infinity = __builtin_inff();
  const float special = value == 0.0f ? -infinity : value == infinity ? infinity : __builtin_nanf("");
  return value > 0.0f && value < infinity ? result : special;
}

FN float pow(float base, float exponent) {
  return exp(exponent * log(base));
}

namespace pianola_kernel {

// sin(value + quadrants * pi / 2).
FN float sine(float value, int quadrants) {
  const float n = nearest(value * 0.636619772367581343f);
  const float r = ((value - n * 1.5703125f) - n * 4.837512969970703125e-4f) - n * 7.54978995489188216e-8f;
  const float z = r * r;
  const float sine_part = ((-1.9515295891e-4f * z + 8.3321608736e-3f) * z - 1.6666654611e-1f) * z * r + r;
  const float cosine_part =
      ((2.443315711809948e-5f * z - 1.388731625493765e-3f) * z + 4.166664568298827e-2f) * z * z - 0.5f * z + 1.0f;
  const int quadrant = int(n) + quadrants;
  const float part = (quadrant & 1) != 0 ? cosine_part : sine_part;
  return (quadrant & 2) != 0 ? -part : part;
}

}  // namespace pianola_kernel

FN float sin(float value) {
  return pianola_kernel::sine(value, 0);
}
FN float cos(float value) {
  return pianola_kernel::sine(value, 1);
}

FN float tanh(float value) {
  const float magnitude = abs(value);
  const float z = value * value;
  float p = -5.70498872745e-3f;
  p = p * z + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  const float small = p * z * value + value;
  const float large = __builtin_copysignf(1.0f - 2.0f / (exp(2.0f * magnitude) + 1.0f), value);
  return magnitude < 0.625f ? small : large;
}
