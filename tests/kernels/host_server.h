// SPDX-License-Identifier: Apache-2.0
// What emulated_runner.cpp writes to host_server.c for each launch: this header, the constants, and each buffer as its
// size (uint64_t), where it starts within 64 bytes (uint64_t), and its bytes. The answer is each buffer's bytes.
#pragma once

#include <stdint.h>

struct host_server_request {
  char symbol[96];
  uint32_t groups[3];
  uint32_t buffers;
  uint32_t constant_bytes;
};
