// SPDX-License-Identifier: Apache-2.0
// For NVIDIA and AMD GPUs, as one would write it in CUDA C++ or HIP, but without their headers: `count` words from the
// first buffer, in reverse, through workgroup memory whose size the launch gives.
#define KERNEL extern "C" __attribute__((global, launch_bounds(64)))
#define DEVICE static inline __attribute__((always_inline, device))

using uint = unsigned int;

#if defined(__AMDGCN__)
DEVICE uint thread() {
  return __builtin_amdgcn_workitem_id_x();
}
DEVICE void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
#else
DEVICE uint thread() {
  return __nvvm_read_ptx_sreg_tid_x();
}
DEVICE void barrier() {
  __syncthreads();
}
#endif

extern __attribute__((shared)) uint words[];

DEVICE void reverse(const uint* from, uint* to, uint count) {
  for (uint i = thread(); i < count; i += 64) words[i] = from[i];
  barrier();
  for (uint i = thread(); i < count; i += 64) to[i] = words[count - 1 - i];
}

KERNEL void reverse_16k(const uint* from, uint* to, uint count) {
  reverse(from, to, count);
}
KERNEL void reverse_60k(const uint* from, uint* to, uint count) {
  reverse(from, to, count);
}
KERNEL void reverse_1m(const uint* from, uint* to, uint count) {
  reverse(from, to, count);
}
