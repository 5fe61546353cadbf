// SPDX-License-Identifier: Apache-2.0
// The dialect for NVIDIA and AMD GPUs: clang compiles it as CUDA or HIP, without either's headers.
// Part of pianola/kernel.h. A kernel is a kernel, a thread is a thread; arguments are passed flat, buffers first.
#pragma once

#define FN static inline __attribute__((always_inline, device))
#define PIANOLA_K_FN inline __attribute__((always_inline, device))

#include "pianola/kernel/types.h"

namespace pianola_kernel {

// An array passed by value.
template <class T, uint count>
struct Array {
  T values[count];
  PIANOLA_K_FN T operator[](uint index) const { return values[index]; }
};

}  // namespace pianola_kernel

#if defined(PIANOLA_KERNEL_PTX)
#define PIANOLA_K_ENTRY(threads) extern "C" __attribute__((global, launch_bounds(threads)))
#define PIANOLA_K_LID(axis) uint(__nvvm_read_ptx_sreg_tid_##axis())
#define PIANOLA_K_WG(axis) uint(__nvvm_read_ptx_sreg_ctaid_##axis())
#define PIANOLA_K_NWG(axis, size) uint(__nvvm_read_ptx_sreg_nctaid_##axis())
#define PIANOLA_K_BARRIER __syncthreads();
#else
#define PIANOLA_K_ENTRY(threads) \
  extern "C" __attribute__((global, visibility("protected"), amdgpu_flat_work_group_size(threads, threads)))
#define PIANOLA_K_LID(axis) uint(__builtin_amdgcn_workitem_id_##axis())
#define PIANOLA_K_WG(axis) uint(__builtin_amdgcn_workgroup_id_##axis())
#define PIANOLA_K_NWG(axis, size) (uint(__builtin_amdgcn_grid_size_##axis()) / (size))
#define PIANOLA_K_BARRIER                                \
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); \
  __builtin_amdgcn_s_barrier();                          \
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
#endif

// With programmatic edges in a graph a kernel may start before those it depends on have ended: wait for them first.
#if defined(PIANOLA_KERNEL_GRID_WAIT)
#define PIANOLA_K_GRID_WAIT __asm__ volatile("griddepcontrol.wait;" ::: "memory");
#else
#define PIANOLA_K_GRID_WAIT
#endif

#define PIANOLA_K_PARAM_BUF(restricted, q, t, n, k, s, b) , [[maybe_unused]] q t* restricted n
#define PIANOLA_K_PARAM_VAL(restricted, q, t, n, k, s, b) , [[maybe_unused]] const t n
#define PIANOLA_K_PARAM_VALA(restricted, q, t, n, k, s, b) , [[maybe_unused]] const pianola_kernel::Array<t, k> n
#define PIANOLA_K_PARAM_SHM(...)
#define PIANOLA_K_PARAM_PRV(...)
#define PIANOLA_K_PARAM_PRVA(...)
#define PIANOLA_K_PARAM_OPQ(...)
#define PIANOLA_K_PARAM_MAL(...)

#define PIANOLA_K_LOCAL_BUF(...)
#define PIANOLA_K_LOCAL_VAL(...)
#define PIANOLA_K_LOCAL_VALA(...)
#define PIANOLA_K_LOCAL_SHM(extra, q, t, n, k, s, b) [[maybe_unused]] static __attribute__((shared)) t n[k];
#define PIANOLA_K_LOCAL_PRV(extra, q, t, n, k, s, b) [[maybe_unused]] t n;
#define PIANOLA_K_LOCAL_PRVA(extra, q, t, n, k, s, b) [[maybe_unused]] t n[k];
#define PIANOLA_K_LOCAL_OPQ(...)
#define PIANOLA_K_LOCAL_MAL(...)

#define KERNEL(name, X, Y, Z, ...)                                                                                  \
  PIANOLA_K_ENTRY((X) * (Y) * (Z))                                                                                  \
  void name(PIANOLA_K_REST(~PIANOLA_K_EACH(PARAM, PIANOLA_K_RESTRICT(__VA_ARGS__), __VA_ARGS__))) {                 \
    [[maybe_unused]] const uint LID_X = PIANOLA_K_LID(x), LID_Y = PIANOLA_K_LID(y), LID_Z = PIANOLA_K_LID(z);       \
    [[maybe_unused]] const uint WG_X = PIANOLA_K_WG(x), WG_Y = PIANOLA_K_WG(y), WG_Z = PIANOLA_K_WG(z);             \
    [[maybe_unused]] const uint NWG_X = PIANOLA_K_NWG(x, X), NWG_Y = PIANOLA_K_NWG(y, Y);                           \
    [[maybe_unused]] const uint NWG_Z = PIANOLA_K_NWG(z, Z);                                                        \
    [[maybe_unused]] const uint GID_X = WG_X * (X) + LID_X, GID_Y = WG_Y * (Y) + LID_Y, GID_Z = WG_Z * (Z) + LID_Z; \
    PIANOLA_K_EACH(LOCAL, ~, __VA_ARGS__)                                                                           \
    PIANOLA_K_GRID_WAIT
#define END_KERNEL }

// The loop that runs once makes `continue` end the phase, as it does on the CPU.
#define PIANOLA_K_PHASE(condition) \
  do {                             \
    if (condition) {
#define PHASE PIANOLA_K_PHASE(true)
#define PHASE_X(width) PIANOLA_K_PHASE(GID_X < uint(width))
#define PHASE_XY(width, height) PIANOLA_K_PHASE(GID_X < uint(width) && GID_Y < uint(height))
#define PHASE_LANES(count) PIANOLA_K_PHASE(LID_X < uint(count))
#define END_PHASE \
  }               \
  }               \
  while (false);
#define END_SYNC END_PHASE PIANOLA_K_BARRIER

#define P(name) name
#define PA(name, index) name[index]

#if defined(PIANOLA_KERNEL_PTX)
#define PIANOLA_K_ATOMIC(operation, array, index, value) __atomic_##operation(&(array)[index], value, __ATOMIC_RELAXED)
#define ATOMIC_EXCHANGE(array, index, value) PIANOLA_K_ATOMIC(exchange_n, array, index, value)
#else
#define PIANOLA_K_ATOMIC(operation, array, index, value) \
  __hip_atomic_##operation(&(array)[index], value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)
#define ATOMIC_EXCHANGE(array, index, value) PIANOLA_K_ATOMIC(exchange, array, index, value)
#endif
#define ATOMIC_ADD(array, index, value) PIANOLA_K_ATOMIC(fetch_add, array, index, value)
#define ATOMIC_AND(array, index, value) PIANOLA_K_ATOMIC(fetch_and, array, index, value)
#define ATOMIC_OR(array, index, value) PIANOLA_K_ATOMIC(fetch_or, array, index, value)
#define ATOMIC_XOR(array, index, value) PIANOLA_K_ATOMIC(fetch_xor, array, index, value)
#define ATOMIC_MIN(array, index, value) PIANOLA_K_ATOMIC(fetch_min, array, index, value)
#define ATOMIC_MAX(array, index, value) PIANOLA_K_ATOMIC(fetch_max, array, index, value)
