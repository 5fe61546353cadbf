// SPDX-License-Identifier: Apache-2.0
// A kernel for the CPU without the dialect: values[i] /= 2 for i below count, 64 to a workgroup.
#include <pianola/kernel_abi.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT const uint32_t pianola_host_abi = pianola_host_abi_version;

EXPORT void halve(const struct pianola_host_launch* launch) {
  uint32_t* values = launch->buffers[0];
  const uint64_t count = *(const uint64_t*)launch->constants;
  for (uint64_t i = launch->begin * 64; i < launch->end * 64 && i < count; ++i) values[i] /= 2;
}
