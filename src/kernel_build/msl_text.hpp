// SPDX-License-Identifier: Apache-2.0
// Writes the kernels of one source as Metal Shading Language.
#pragma once

#include <string>

#include "kernel_build/compile.hpp"
#include "kernel_build/kernel_text.hpp"

namespace pianola::kernel_build {

/// Up to 30 bindings are buffers 0, 1, ... in the kernel's order; more are one argument buffer of pointers, with ids
/// in that order, at buffer 0. The constant block is buffer 30.
std::string msl_of(const Source& source, const SourceText& text);

/// What a kernel is called there, where its own name may be a word of the language.
std::string msl_name(std::string_view kernel, const SourceText& text);

}  // namespace pianola::kernel_build
