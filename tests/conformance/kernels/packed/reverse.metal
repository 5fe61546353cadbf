// SPDX-License-Identifier: Apache-2.0
#include <metal_stdlib>
using namespace metal;

#define REVERSE(name)                                                                                     \
  kernel void name(device const uint* from [[buffer(0)]], device uint* to [[buffer(1)]],                  \
                   constant uint& count [[buffer(30)]], threadgroup uint* words [[threadgroup(0)]],       \
                   uint lane [[thread_index_in_threadgroup]]) {                                           \
    for (uint i = lane; i < count; i += 64) words[i] = from[i];                                           \
    threadgroup_barrier(mem_flags::mem_threadgroup);                                                      \
    for (uint i = lane; i < count; i += 64) to[i] = words[count - 1 - i];                                 \
  }

REVERSE(reverse_16k)
REVERSE(reverse_60k)
REVERSE(reverse_1m)
