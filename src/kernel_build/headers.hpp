// SPDX-License-Identifier: Apache-2.0
// Finds the dialect's headers for programs that were not told where they are.
#pragma once

#include <string>

#include "pianola/error.hpp"

namespace pianola::kernel_build {

/// The folder that holds pianola/kernel.h: ../include beside the running program, or the source tree it was built in.
/// Errors: io, with both places.
Result<std::string> find_headers();

}  // namespace pianola::kernel_build
