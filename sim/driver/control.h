// SPDX-License-Identifier: Apache-2.0
// What tests ask of the software driver, exported by both of its faces beside the vendor's own functions.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "pianola/kernel_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

// One argument of a kernel: a buffer (an 8-byte pointer) or bytes of the constant block.
struct pianola_sim_argument {
  uint32_t is_buffer;
  uint32_t offset;  // in the constant block
  uint32_t size;
};

struct pianola_sim_kernel {
  const char* symbol;
  pianola_host_kernel function;
  const struct pianola_sim_argument* arguments;
  uint32_t argument_count;
  uint32_t workgroup[3];
  uint32_t constant_bytes;
  uint32_t shared_bytes;
  uint32_t dynamic_shared_bytes;
};

// Modules loaded from now on find this kernel by its symbol.
void pianola_sim_register(const struct pianola_sim_kernel* kernel);

// Order of independent work, and how it is cut into interleaved pieces.
void pianola_sim_set_seed(uint64_t seed);
void pianola_sim_set_version(int version);

// The call after the next `calls` ones returns `status` instead of doing its work; a release does it all the same.
// A negative number of calls switches this off.
void pianola_sim_fail_after(int64_t calls, int status);
// The call after the next `calls` ones that come from that site does so.
void pianola_sim_fail_at(uint64_t site, int64_t calls, int status);
// A site is a function and the row of calls in the program that led to it. From now on they are gathered, or not.
void pianola_sim_gather_sites(int on);
// The sites gathered, in the order of their first call. Returns how many there are.
size_t pianola_sim_sites(uint64_t* sites, size_t room);
// Name of the call that was failed last, or "".
const char* pianola_sim_failed_call(void);
int64_t pianola_sim_call_count(void);

// Streams do not get past a launch of the kernel of that symbol until this is called with another; "" is none.
// Nodes of graphs are not held.
void pianola_sim_hold(const char* symbol);
// How many launches that are not done yet are of that kernel.
int64_t pianola_sim_held(void);

// The piece of work after the next `pieces` ones hits an illegal address. Negative: off.
void pianola_sim_fault_after(int64_t pieces);
// Brings lost devices back, as a new process would. Nothing may be in flight.
void pianola_sim_revive(void);

// Streams, events, modules, graphs, executables and retained contexts that were not given back, and bytes.
int64_t pianola_sim_live_objects(void);
int64_t pianola_sim_live_bytes(void);
int64_t pianola_sim_count(const char* call);  // how often that function was called

// Breaches of the driver's rules so far, one a line. Returns their number; the text is cut to `size`.
int pianola_sim_complaints(char* text, size_t size);
void pianola_sim_forget_complaints(void);

#ifdef __cplusplus
}  // extern "C"
#endif
