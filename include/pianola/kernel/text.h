// SPDX-License-Identifier: Apache-2.0
// The dialect as text, from which GLSL and MSL are made. Part of pianola/kernel.h.
//
// Only the preprocessor reads this. Words that start with @@ mark places, for the check of the dialect alone but for
// those of a kernel; the interface of a kernel is written from its record in the host object, and whatever starts with
// PIANOLA_ is defined by the text that is put in front.
#pragma once

// clang-format off

#define FN PIANOLA_FN

#define KERNEL(name, X, Y, Z, ...) @@kernel name @@args __VA_ARGS__ @@body
#define END_KERNEL @@end

#define PIANOLA_K_PHASE(condition) @@phase do { if (condition) {
#define PHASE PIANOLA_K_PHASE(true)
#define PHASE_X(width) PIANOLA_K_PHASE(GID_X < uint(width))
#define PHASE_XY(width, height) PIANOLA_K_PHASE(GID_X < uint(width) && GID_Y < uint(height))
#define PHASE_LANES(count) PIANOLA_K_PHASE(LID_X < uint(count))
#define END_PHASE } } while (false); @@endphase
#define END_SYNC } } while (false); @@endphase PIANOLA_BARRIER

#define P(name) @@own name
#define PA(name, index) @@item name[index]

#define ATOMIC_ADD(array, index, value) PIANOLA_ATOMIC_ADD(array, index, value)
#define ATOMIC_AND(array, index, value) PIANOLA_ATOMIC_AND(array, index, value)
#define ATOMIC_OR(array, index, value) PIANOLA_ATOMIC_OR(array, index, value)
#define ATOMIC_XOR(array, index, value) PIANOLA_ATOMIC_XOR(array, index, value)
#define ATOMIC_MIN(array, index, value) PIANOLA_ATOMIC_MIN(array, index, value)
#define ATOMIC_MAX(array, index, value) PIANOLA_ATOMIC_MAX(array, index, value)
#define ATOMIC_EXCHANGE(array, index, value) PIANOLA_ATOMIC_EXCHANGE(array, index, value)
