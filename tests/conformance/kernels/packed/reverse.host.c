// SPDX-License-Identifier: Apache-2.0
// For CPUs: a host object brings its workgroup memory itself.
#include "pianola/kernel_abi.h"

const uint32_t pianola_host_abi = pianola_host_abi_version;

static void reverse(const struct pianola_host_launch* launch, uint32_t most) {
  uint32_t words[15 * 1024];
  const uint32_t* from = launch->buffers[0];
  uint32_t* to = launch->buffers[1];
  const uint32_t count = *(const uint32_t*)launch->constants;
  if (count > most) return;
  for (uint32_t i = 0; i < count; ++i) words[i] = from[i];
  for (uint32_t i = 0; i < count; ++i) to[i] = words[count - 1 - i];
}

void reverse_16k(const struct pianola_host_launch* launch) {
  reverse(launch, 4 * 1024);
}
void reverse_60k(const struct pianola_host_launch* launch) {
  reverse(launch, 15 * 1024);
}
void reverse_1m(const struct pianola_host_launch* launch) {
  reverse(launch, 15 * 1024);
}
