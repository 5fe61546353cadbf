// SPDX-License-Identifier: Apache-2.0
// Loads a host object and runs its kernels on request. Built for another machine and run under an emulator.
// usage: host_server OBJECT    requests on standard input, answers on standard output (host_server.h)
#include "host_server.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "pianola/kernel_abi.h"

enum { max_buffers = 64 };

static void fail(const char* what, const char* why) {
  fprintf(stderr, "host_server: %s: %s\n", what, why);
  exit(1);
}

static void receive(void* into, size_t size) {
  if (size != 0 && fread(into, size, 1, stdin) != 1) fail("request", "cut short");
}

static void serve(void* object, const struct host_server_request* request) {
  static _Alignas(16) char constants[1024];
  static struct {
    char* memory;
    uint64_t size, shift;
  } areas[max_buffers];
  void* buffers[max_buffers];
  if (request->buffers > max_buffers || request->constant_bytes > sizeof(constants)) fail("request", "too large");
  receive(constants, request->constant_bytes);
  for (uint32_t i = 0; i < request->buffers; ++i) {
    receive(&areas[i].size, sizeof(uint64_t));
    receive(&areas[i].shift, sizeof(uint64_t));
    areas[i].memory = aligned_alloc(64, (areas[i].size + 191) / 64 * 64);
    if (areas[i].memory == NULL) fail("request", "out of memory");
    buffers[i] = areas[i].memory + areas[i].shift;
    receive(buffers[i], areas[i].size);
  }
  pianola_host_kernel kernel = (pianola_host_kernel)dlsym(object, request->symbol);
  if (kernel == NULL) fail(request->symbol, dlerror());
  struct pianola_host_launch launch = {
      .buffers = buffers,
      .constants = constants,
      .groups = {request->groups[0], request->groups[1], request->groups[2]},
      .end = (uint64_t)request->groups[0] * request->groups[1] * request->groups[2],
  };
  kernel(&launch);
  for (uint32_t i = 0; i < request->buffers; ++i) {
    if (areas[i].size != 0 && fwrite(buffers[i], areas[i].size, 1, stdout) != 1) fail("answer", "cut short");
    free(areas[i].memory);
  }
  fflush(stdout);
}

int main(int argc, char** argv) {
  if (argc != 2) fail("usage", "host_server OBJECT");
  void* object = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (object == NULL) fail(argv[1], dlerror());
  const uint32_t* version = dlsym(object, "pianola_host_abi");
  if (version == NULL || *version != pianola_host_abi_version) fail(argv[1], "another interface version");
  struct host_server_request request;
  while (fread(&request, sizeof(request), 1, stdin) == 1) serve(object, &request);
  return 0;
}
