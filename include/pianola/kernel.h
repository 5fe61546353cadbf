// SPDX-License-Identifier: Apache-2.0
// The portable kernel dialect: one source text for CPUs and GPUs. Build it with `pianola kernel build`.
//
//     #include <pianola/kernel.h>
//     KERNEL(saxpy, 256, 1, 1, IN(float, x), INOUT(float, y), VAL(float, a), VAL(uint, n))
//       PHASE_X(n)
//         y[GID_X] = fma(a, x[GID_X], y[GID_X]);
//       END_PHASE
//     END_KERNEL
//
// KERNEL(name, x, y, z, entries...): a kernel with workgroups of x * y * z threads. Its entries:
//   IN, OUT, INOUT(type, name)                      a buffer, the next binding of the set; read it as name[i]
//   IN_AT, OUT_AT, INOUT_AT(set, binding, type, name)  the same at a stated place, in ascending order
//   VAL(type, name), VALA(type, name, count)        a constant, or an array of them; int, uint or float
//   SHARED(type, name, count)                       workgroup memory, undefined at the start
//   PRV(type, name), PRVA(type, name, count)        a thread's own value that lives across phases: P(name),
//                                                   PA(name, index)
//   OPAQUE                                          the kernel follows stored pointers or uses device globals
//   MAY_ALIAS                                       a written binding may overlap another one
//
// The body is made of phases. Code in a phase runs once a thread; between phases it runs once a workgroup, writes
// nothing that threads share, and variables declared there are constants for the threads. END_SYNC closes a phase with
// a workgroup barrier, END_PHASE without one.
//   PHASE                 all threads
//   PHASE_X(width)        those with GID_X < width
//   PHASE_XY(width, height)  those with GID_X < width and GID_Y < height
//   PHASE_LANES(count)    those with LID_X < count
// LID_X, LID_Y, LID_Z number the thread in its workgroup, GID_ in the grid (both in phases only); WG_ numbers the
// workgroup, NWG_ counts them. FN starts a helper function; helpers take and give values, never buffers.
// `continue` ends a phase for one thread; `return` and `break` out of a phase are refused.
// Pointers, references, templates, lambdas and recursion are not part of the dialect. Every macro that is not named
// here starts with PIANOLA_K_.
#pragma once

#include "pianola/kernel/list.h"

#if defined(PIANOLA_KERNEL_TEXT)
#include "pianola/kernel/text.h"
#elif defined(PIANOLA_KERNEL_PTX) || defined(PIANOLA_KERNEL_AMDGPU)
#include "pianola/kernel/gpu.h"
#include "pianola/kernel/math.h"
#else
#include "pianola/kernel/host.h"
#include "pianola/kernel/math.h"
#endif
