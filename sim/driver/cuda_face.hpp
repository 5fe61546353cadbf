// SPDX-License-Identifier: Apache-2.0
// What the two halves of the CUDA face share.
#pragma once

#include "backend/cuda/abi.hpp"
#include "face.hpp"

namespace sim::cuda {

namespace abi = pianola::cuda;

extern thread_local int current;  ///< device of this thread's current context, or -1

int convert(Status status);
/// Ok if a context is current and its device is not lost.
Status no_context(World& world);

}  // namespace sim::cuda
