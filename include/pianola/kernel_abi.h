// SPDX-License-Identifier: Apache-2.0
// The binary interface of host kernel objects: what a kernel is called with, and the record that says what it
// takes. Plain C layout without pointers in the records, so that one machine can read another's objects.
//
// A host object is a shared object. It exports the number `pianola_host_abi`, and one function a kernel of type
// `pianola_host_kernel`. Objects built from the portable dialect (pianola/kernel.h) name that function after the
// kernel and hold one `pianola_kernel_record` a kernel in the section `pianola_kernels`.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum pianola_kernel_constants {
  pianola_host_abi_version = 1,       // the value of the exported `pianola_host_abi` (uint32_t)
  pianola_kernel_magic = 0x314b4c50,  // "PLK1": first word of a record
  pianola_kernel_name_size = 96,      // including the closing zero
};

// One call runs the workgroups [begin, end) of a grid, counted x first, then y, then z.
// Different calls may run at once on different threads. A kernel keeps nothing between calls. It must not throw: an
// exception that leaves it ends the process, or fails the submission with an error that says something else.
struct pianola_host_launch {
  void* const* buffers;   // one a binding, in the kernel's order; each is the first byte of the bound range
  const void* constants;  // the constant block, at any address; may be null if the kernel takes none
  uint32_t groups[3];     // the whole grid in workgroups; none is 0
  uint32_t reserved;      // 0
  uint64_t begin;
  uint64_t end;  // at most groups[0] * groups[1] * groups[2]
};

typedef void (*pianola_host_kernel)(const struct pianola_host_launch* launch);

enum pianola_argument_kind {
  pianola_argument_none = 0,       // closes the list
  pianola_argument_buffer = 1,     // set, binding, access; size is that of one element
  pianola_argument_constant = 2,   // offset in the constant block, size
  pianola_argument_shared = 3,     // workgroup memory: size of one element, count of elements
  pianola_argument_opaque = 4,     // a flag: the kernel follows stored pointers or uses device globals
  pianola_argument_may_alias = 5,  // a flag: a written binding may overlap another one
  pianola_argument_private = 6     // per-thread storage: count elements of size bytes
};

enum pianola_access { pianola_access_in = 1, pianola_access_out = 2, pianola_access_inout = 3 };

struct pianola_argument_record {
  uint32_t kind;
  uint32_t access;
  uint32_t set;
  uint32_t binding;
  uint32_t offset;
  uint32_t size;
  uint32_t count;
  uint32_t is_array;  // of constants and private storage
  char name[pianola_kernel_name_size];
  char type[32];
};

// Followed by argument_count argument records.
struct pianola_kernel_record {
  uint32_t magic;
  uint32_t size;  // bytes of this record with its arguments
  uint32_t abi;
  uint32_t argument_count;
  uint32_t workgroup[3];
  uint32_t constant_bytes;
  char name[pianola_kernel_name_size];
};

#ifdef __cplusplus
}  // extern "C"
#endif
