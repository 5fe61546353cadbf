// SPDX-License-Identifier: Apache-2.0
// The dialect's types in C++ (host, PTX, AMDGPU). Part of pianola/kernel.h.
//
// int, uint and float are for computing. half, i8, u8, i16 and u16 are for storage only: load with float(x[i]) or
// int(x[i]), store with y[i] = u8(v); some GPUs have no arithmetic on them. uint4 and float4 move 16 bytes at once.
#pragma once

typedef unsigned int uint;

#define PIANOLA_K_STORAGE(name, raw)                                          \
  struct name {                                                               \
    raw bits;                                                                 \
    name() = default;                                                         \
    PIANOLA_K_FN explicit name(int value) : bits(static_cast<raw>(value)) {}  \
    PIANOLA_K_FN explicit name(uint value) : bits(static_cast<raw>(value)) {} \
    PIANOLA_K_FN explicit operator int() const {                              \
      return int(bits);                                                       \
    }                                                                         \
    PIANOLA_K_FN explicit operator uint() const {                             \
      return uint(bits);                                                      \
    }                                                                         \
    PIANOLA_K_FN explicit operator float() const {                            \
      return float(bits);                                                     \
    }                                                                         \
  };
PIANOLA_K_STORAGE(i8, signed char)
PIANOLA_K_STORAGE(u8, unsigned char)
PIANOLA_K_STORAGE(i16, short)
PIANOLA_K_STORAGE(u16, unsigned short)

// IEEE binary16; storing rounds to nearest even.
struct half {
  unsigned short bits;
  half() = default;
  PIANOLA_K_FN explicit half(float value) : bits(to_bits(value)) {}
  PIANOLA_K_FN explicit operator float() const { return to_float(bits); }

#if defined(PIANOLA_KERNEL_PTX) || defined(PIANOLA_KERNEL_AMDGPU) || defined(__F16C__) || defined(__aarch64__)
  PIANOLA_K_FN static unsigned short to_bits(float value) {
    return __builtin_bit_cast(unsigned short, static_cast<_Float16>(value));
  }
  PIANOLA_K_FN static float to_float(unsigned short value) {
    return static_cast<float>(__builtin_bit_cast(_Float16, value));
  }
#else
  // Without the instruction: scaling by powers of two moves the exponent, and the hardware's own addition rounds.
  PIANOLA_K_FN static unsigned short to_bits(float value) {
    const uint all = __builtin_bit_cast(uint, value);
    const uint sign = (all >> 16) & 0x8000u;
    const uint magnitude = all & 0x7fffffffu;
    const float x = __builtin_bit_cast(float, magnitude);
    // Adding 2^(exponent + 13) leaves ten fraction bits; below the smallest normal half, a fixed step of 2^-24.
    const uint exponent = magnitude & 0x7f800000u;
    const uint step = (exponent < 0x38800000u ? 0x38800000u : exponent) + (13u << 23);
    const float rounded = (x + __builtin_bit_cast(float, step)) - __builtin_bit_cast(float, step);
    const uint normal = (__builtin_bit_cast(uint, rounded) - (112u << 23)) >> 13;
    const uint tiny = uint(int(rounded * 16777216.0f));
    uint result = rounded < 6.103515625e-05f ? tiny : normal;
    result = magnitude >= 0x477ff000u ? 0x7c00u : result;
    result = magnitude > 0x7f800000u ? (0x7e00u | ((magnitude >> 13) & 0x3ffu)) : result;
    return static_cast<unsigned short>(sign | result);
  }
  PIANOLA_K_FN static float to_float(unsigned short value) {
    const uint magnitude = value & 0x7fffu;
    const uint sign = (value & 0x8000u) << 16;
    const float scaled = __builtin_bit_cast(float, magnitude << 13) * 5.192296858534828e+33f;  // 2^112
    const uint special = (magnitude << 13) | 0x7f800000u;
    const uint bits32 = magnitude >= 0x7c00u ? special : __builtin_bit_cast(uint, scaled);
    return __builtin_bit_cast(float, sign | bits32);
  }
#endif
};

// The host takes them at any byte address that a range may start at; a GPU wants 16.
#if defined(PIANOLA_KERNEL_PTX) || defined(PIANOLA_KERNEL_AMDGPU)
#define PIANOLA_K_ALIGN(n) alignas(n)
#else
#define PIANOLA_K_ALIGN(n)
#endif
#define PIANOLA_K_VECTOR4(name, scalar)                                                           \
  struct PIANOLA_K_ALIGN(16) name {                                                               \
    scalar x, y, z, w;                                                                            \
    name() = default;                                                                             \
    PIANOLA_K_FN name(scalar x0, scalar y0, scalar z0, scalar w0) : x(x0), y(y0), z(z0), w(w0) {} \
  };
PIANOLA_K_VECTOR4(uint4, uint)
PIANOLA_K_VECTOR4(float4, float)
