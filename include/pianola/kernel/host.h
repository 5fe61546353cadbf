// SPDX-License-Identifier: Apache-2.0
// The dialect for the CPU. Part of pianola/kernel.h.
//
// A kernel becomes a function over a range of workgroups; each phase becomes a loop over the workgroup's threads,
// innermost over x, which vectorises. Per-thread state that lives across phases is an array over the threads.
#pragma once

#include "pianola/kernel_abi.h"

#define FN static inline __attribute__((always_inline))
#define PIANOLA_K_FN inline __attribute__((always_inline))

// The threads of a phase are independent of each other by the rules of the dialect.
#if defined(__clang__)
#define PIANOLA_K_SIMD _Pragma("clang loop vectorize(assume_safety) interleave(enable)")
#else
#define PIANOLA_K_SIMD _Pragma("GCC ivdep")
#endif

#include "pianola/kernel/types.h"

namespace pianola_kernel {

template <uint count>
struct Record {
  pianola_kernel_record head;
  pianola_argument_record arguments[count];
};

template <class T>
constexpr bool is_value = false;
template <>
constexpr bool is_value<int> = true;
template <>
constexpr bool is_value<uint> = true;
template <>
constexpr bool is_value<float> = true;

// Numbers bindings and lays out the constant block. Not constant evaluation is the error message.
template <uint count>
consteval Record<count> finished(Record<count> record) {
  unsigned long long offset = 0;
  uint set = 0;
  uint binding = 0;
  for (uint i = 0; i < count; ++i) {
    pianola_argument_record& argument = record.arguments[i];
    if (argument.kind == pianola_argument_buffer) {
      if (argument.set == 0xffffffffu) {
        argument.set = set;
        argument.binding = binding;
      }
      if (argument.set < set || (argument.set == set && argument.binding < binding)) {
        throw "bindings must be listed in ascending (set, binding) order";
      }
      set = argument.set;
      binding = argument.binding + 1;
    } else if (argument.kind == pianola_argument_constant) {
      argument.offset = uint(offset);
      offset += 1ull * argument.size * argument.count;
    }
    if (offset > 1024) throw "a kernel takes at most 1024 bytes of constants";
  }
  record.head.constant_bytes = uint(offset);
  return record;
}

// As many of `size` threads as start below `limit`.
FN uint below(uint start, uint size, uint limit) {
  return limit <= start ? 0u : limit - start < size ? limit - start : size;
}

// The same number, which the compiler learns just before it vectorises. Knowing it sooner it would unroll short rows,
// and only loops are vectorised.
FN uint known_late(uint number) {
  uint opaque = number;
  __asm__("" : "+r"(opaque));
  return __builtin_constant_p(opaque) ? opaque : number;
}

}  // namespace pianola_kernel

#define PIANOLA_K_PARAM_BUF(restricted, q, t, n, k, s, b) , [[maybe_unused]] q t* restricted n
#define PIANOLA_K_PARAM_VAL(restricted, q, t, n, k, s, b) , [[maybe_unused]] const t n
#define PIANOLA_K_PARAM_VALA(restricted, q, t, n, k, s, b) , [[maybe_unused]] const t* __restrict n
#define PIANOLA_K_PARAM_SHM(...)
#define PIANOLA_K_PARAM_PRV(...)
#define PIANOLA_K_PARAM_PRVA(...)
#define PIANOLA_K_PARAM_OPQ(...)
#define PIANOLA_K_PARAM_MAL(...)

#define PIANOLA_K_INDEX_BUF(extra, q, t, n, k, s, b) n,
#define PIANOLA_K_INDEX_VAL(...)
#define PIANOLA_K_INDEX_VALA(...)
#define PIANOLA_K_INDEX_SHM(...)
#define PIANOLA_K_INDEX_PRV(...)
#define PIANOLA_K_INDEX_PRVA(...)
#define PIANOLA_K_INDEX_OPQ(...)
#define PIANOLA_K_INDEX_MAL(...)

#define PIANOLA_K_PASS_BUF(extra, q, t, n, k, s, b) \
  , static_cast<q t*>(pianola_launch->buffers[uint(PianolaBuffers::n)])
#define PIANOLA_K_PASS_VAL(extra, q, t, n, k, s, b) , pianola_constants.n
#define PIANOLA_K_PASS_VALA(extra, q, t, n, k, s, b) , pianola_constants.n
#define PIANOLA_K_PASS_SHM(...)
#define PIANOLA_K_PASS_PRV(...)
#define PIANOLA_K_PASS_PRVA(...)
#define PIANOLA_K_PASS_OPQ(...)
#define PIANOLA_K_PASS_MAL(...)

#define PIANOLA_K_FIELD_BUF(...)
#define PIANOLA_K_FIELD_VAL(extra, q, t, n, k, s, b) t n;
#define PIANOLA_K_FIELD_VALA(extra, q, t, n, k, s, b) t n[k];
#define PIANOLA_K_FIELD_SHM(...)
#define PIANOLA_K_FIELD_PRV(...)
#define PIANOLA_K_FIELD_PRVA(...)
#define PIANOLA_K_FIELD_OPQ(...)
#define PIANOLA_K_FIELD_MAL(...)

#define PIANOLA_K_LOCAL_BUF(...)
#define PIANOLA_K_LOCAL_VAL(extra, q, t, n, k, s, b) PIANOLA_K_WORD(t)
#define PIANOLA_K_LOCAL_VALA(extra, q, t, n, k, s, b) PIANOLA_K_WORD(t)
#define PIANOLA_K_LOCAL_SHM(extra, q, t, n, k, s, b) PIANOLA_K_WORD(t) [[maybe_unused]] alignas(64) t n[k];
#define PIANOLA_K_LOCAL_PRV(extra, q, t, n, k, s, b) \
  PIANOLA_K_WORD(t) [[maybe_unused]] alignas(64) t n[pianola_threads];
#define PIANOLA_K_LOCAL_PRVA(extra, q, t, n, k, s, b) \
  PIANOLA_K_WORD(t) [[maybe_unused]] alignas(64) t n[k][pianola_threads];
#define PIANOLA_K_LOCAL_OPQ(...)
#define PIANOLA_K_LOCAL_MAL(...)
#define PIANOLA_K_WORD(t) \
  static_assert(pianola_kernel::is_value<t>, "values, shared and private memory are int, uint or float");

#define PIANOLA_K_RECORD_BUF(extra, q, t, n, k, s, b) \
  {pianola_argument_buffer, k, uint(s), uint(b), 0, sizeof(t), 1, 0, #n, #t},
#define PIANOLA_K_RECORD_VAL(extra, q, t, n, k, s, b) {pianola_argument_constant, 0, 0, 0, 0, sizeof(t), 1, 0, #n, #t},
#define PIANOLA_K_RECORD_VALA(extra, q, t, n, k, s, b) {pianola_argument_constant, 0, 0, 0, 0, sizeof(t), k, 1, #n, #t},
#define PIANOLA_K_RECORD_SHM(extra, q, t, n, k, s, b) {pianola_argument_shared, 0, 0, 0, 0, sizeof(t), k, 0, #n, #t},
#define PIANOLA_K_RECORD_PRV(extra, q, t, n, k, s, b) {pianola_argument_private, 0, 0, 0, 0, sizeof(t), 1, 0, #n, #t},
#define PIANOLA_K_RECORD_PRVA(extra, q, t, n, k, s, b) {pianola_argument_private, 0, 0, 0, 0, sizeof(t), k, 1, #n, #t},
#define PIANOLA_K_RECORD_OPQ(extra, q, t, n, k, s, b) {pianola_argument_opaque, 0, 0, 0, 0, 0, 0, 0, #n, #t},
#define PIANOLA_K_RECORD_MAL(extra, q, t, n, k, s, b) {pianola_argument_may_alias, 0, 0, 0, 0, 0, 0, 0, #n, #t},

#define PIANOLA_K_COUNT_BUF(...) +1u
#define PIANOLA_K_COUNT_VAL(...) +1u
#define PIANOLA_K_COUNT_VALA(...) +1u
#define PIANOLA_K_COUNT_SHM(...) +1u
#define PIANOLA_K_COUNT_PRV(...) +1u
#define PIANOLA_K_COUNT_PRVA(...) +1u
#define PIANOLA_K_COUNT_OPQ(...) +1u
#define PIANOLA_K_COUNT_MAL(...) +1u

extern "C" __attribute__((visibility("default"), weak, used)) const uint32_t pianola_host_abi =
    pianola_host_abi_version;

#define PIANOLA_K_WORKGROUP(name, ...)                                                                      \
  static inline __attribute__((always_inline)) void pianola_workgroup_##name(                               \
      [[maybe_unused]] const uint WG_X, [[maybe_unused]] const uint WG_Y, [[maybe_unused]] const uint WG_Z, \
      [[maybe_unused]] const uint NWG_X, [[maybe_unused]] const uint NWG_Y,                                 \
      [[maybe_unused]] const uint NWG_Z PIANOLA_K_EACH(PARAM, PIANOLA_K_RESTRICT(__VA_ARGS__), __VA_ARGS__))

#define PIANOLA_K_MAKE_RECORD(name, X, Y, Z, ...)                                                 \
  __attribute__((section("pianola_kernels"), used)) static constexpr auto pianola_record_##name = \
      pianola_kernel::finished(pianola_kernel::Record<1u PIANOLA_K_EACH(COUNT, ~, __VA_ARGS__)>{  \
          {pianola_kernel_magic,                                                                  \
           sizeof(pianola_kernel::Record<1u PIANOLA_K_EACH(COUNT, ~, __VA_ARGS__)>),              \
           pianola_host_abi_version,                                                              \
           1u PIANOLA_K_EACH(COUNT, ~, __VA_ARGS__),                                              \
           {X, Y, Z},                                                                             \
           0,                                                                                     \
           #name},                                                                                \
          {PIANOLA_K_EACH(RECORD, ~, __VA_ARGS__){pianola_argument_none, 0, 0, 0, 0, 0, 0, 0, "", ""}}});

#define KERNEL(name, X, Y, Z, ...)                                                                                    \
  PIANOLA_K_MAKE_RECORD(name, X, Y, Z, __VA_ARGS__)                                                                   \
  PIANOLA_K_WORKGROUP(name, __VA_ARGS__);                                                                             \
  extern "C" __attribute__((visibility("default"))) void name(const pianola_host_launch* pianola_launch) {            \
    enum class PianolaBuffers : uint { PIANOLA_K_EACH(INDEX, ~, __VA_ARGS__) pianola_buffer_count };                  \
    struct PianolaConstants {                                                                                         \
      PIANOLA_K_EACH(FIELD, ~, __VA_ARGS__)                                                                           \
    };                                                                                                                \
    [[maybe_unused]] PianolaConstants pianola_constants;                                                              \
    constexpr uint pianola_bytes = pianola_record_##name.head.constant_bytes;                                         \
    if constexpr (pianola_bytes != 0) __builtin_memcpy(&pianola_constants, pianola_launch->constants, pianola_bytes); \
    const uint pianola_nx = pianola_launch->groups[0], pianola_ny = pianola_launch->groups[1],                        \
               pianola_nz = pianola_launch->groups[2];                                                                \
    uint64_t pianola_at = pianola_launch->begin;                                                                      \
    uint pianola_wx = uint(pianola_at % pianola_nx), pianola_wy = uint(pianola_at / pianola_nx % pianola_ny),         \
         pianola_wz = uint(pianola_at / pianola_nx / pianola_ny);                                                     \
    for (; pianola_at < pianola_launch->end; ++pianola_at) {                                                          \
      pianola_workgroup_##name(pianola_wx, pianola_wy, pianola_wz, pianola_nx, pianola_ny,                            \
                               pianola_nz PIANOLA_K_EACH(PASS, ~, __VA_ARGS__));                                      \
      pianola_wx = pianola_wx + 1 == pianola_nx ? 0 : pianola_wx + 1;                                                 \
      if (pianola_wx == 0) pianola_wy = pianola_wy + 1 == pianola_ny ? 0 : pianola_wy + 1;                            \
      if (pianola_wx == 0 && pianola_wy == 0) ++pianola_wz;                                                           \
    }                                                                                                                 \
  }                                                                                                                   \
  PIANOLA_K_WORKGROUP(name, __VA_ARGS__) {                                                                            \
    enum : uint {                                                                                                     \
      pianola_x = X,                                                                                                  \
      pianola_y = Y,                                                                                                  \
      pianola_z = Z,                                                                                                  \
      pianola_rows = (Y) * (Z),                                                                                       \
      pianola_threads = (X) * (Y) * (Z)                                                                               \
    };                                                                                                                \
    PIANOLA_K_EACH(LOCAL, ~, __VA_ARGS__)
#define END_KERNEL }

#define PIANOLA_K_PHASE(across, down)                                                      \
  {                                                                                        \
    const uint pianola_across = (across), pianola_down = (down);                           \
    for (uint LID_Z = 0; LID_Z < pianola_z; ++LID_Z)                                       \
      for (uint LID_Y = 0; LID_Y < pianola_down; ++LID_Y) {                                \
        [[maybe_unused]] const uint pianola_row = (LID_Z * pianola_y + LID_Y) * pianola_x; \
        [[maybe_unused]] const uint GID_Z = WG_Z * pianola_z + LID_Z;                      \
        [[maybe_unused]] const uint GID_Y = WG_Y * pianola_y + LID_Y;                      \
        PIANOLA_K_SIMD for (uint LID_X = 0; LID_X < pianola_across; ++LID_X) {             \
          [[maybe_unused]] const uint GID_X = WG_X * pianola_x + LID_X;
#define PIANOLA_K_ALL (pianola_rows == 1 ? pianola_x : pianola_kernel::known_late(pianola_x))
#define PHASE PIANOLA_K_PHASE(PIANOLA_K_ALL, pianola_y)
#define PHASE_X(width) PIANOLA_K_PHASE(pianola_kernel::below(WG_X* pianola_x, pianola_x, width), pianola_y)
#define PHASE_XY(width, height)                                             \
  PIANOLA_K_PHASE(pianola_kernel::below(WG_X* pianola_x, pianola_x, width), \
                  pianola_kernel::below(WG_Y* pianola_y, pianola_y, height))
#define PHASE_LANES(count) PIANOLA_K_PHASE(pianola_kernel::below(0u, pianola_x, count), pianola_y)
#define END_PHASE \
  }               \
  }               \
  }
#define END_SYNC END_PHASE

#define P(name) name[pianola_row + LID_X]
#define PA(name, index) name[index][pianola_row + LID_X]

#define PIANOLA_K_ATOMIC(operation, array, index, value) operation(&(array)[index], value, __ATOMIC_RELAXED)
#define ATOMIC_ADD(array, index, value) PIANOLA_K_ATOMIC(__atomic_fetch_add, array, index, value)
#define ATOMIC_AND(array, index, value) PIANOLA_K_ATOMIC(__atomic_fetch_and, array, index, value)
#define ATOMIC_OR(array, index, value) PIANOLA_K_ATOMIC(__atomic_fetch_or, array, index, value)
#define ATOMIC_XOR(array, index, value) PIANOLA_K_ATOMIC(__atomic_fetch_xor, array, index, value)
#define ATOMIC_EXCHANGE(array, index, value) PIANOLA_K_ATOMIC(__atomic_exchange_n, array, index, value)
#define ATOMIC_MIN(array, index, value) PIANOLA_K_ATOMIC(__atomic_fetch_min, array, index, value)
#define ATOMIC_MAX(array, index, value) PIANOLA_K_ATOMIC(__atomic_fetch_max, array, index, value)
