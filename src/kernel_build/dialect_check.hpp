// SPDX-License-Identifier: Apache-2.0
// Refuses, for all targets, what only some could take or what would mean different things on them.
#pragma once

#include <string_view>

#include "pianola/error.hpp"

namespace pianola::kernel_build {

/// `preprocessed` is a source as the preprocessor wrote it for PIANOLA_KERNEL_TEXT.
/// Errors: unsupported, with file, line and the reason.
Result<> check_dialect(std::string_view preprocessed);

}  // namespace pianola::kernel_build
