// SPDX-License-Identifier: Apache-2.0
// What the two halves of the HIP face share.
#pragma once

#include "backend/hip/abi.hpp"
#include "face.hpp"

namespace sim::hip {

namespace abi = pianola::hip;

extern thread_local int current;  ///< this thread's current device

int convert(Status status);
/// Ok if the current device is not lost. AMD's rules hold from the first call on.
Status usable(World& world);

}  // namespace sim::hip
