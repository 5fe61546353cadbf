// SPDX-License-Identifier: Apache-2.0
// The dialect's functions in C++ (host, PTX, AMDGPU). Part of pianola/kernel.h.
// Written without branches and calls, so that a phase that uses them still vectorises.
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
FN float rsqrt(float value) {
  return 1.0f / __builtin_sqrtf(value);
}
