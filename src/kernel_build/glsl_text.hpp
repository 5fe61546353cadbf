// SPDX-License-Identifier: Apache-2.0
// Writes one kernel of the portable dialect as a GLSL compute shader.
#pragma once

#include <string>

#include "kernel_build/host_records.hpp"
#include "kernel_build/kernel_text.hpp"

namespace pianola::kernel_build {

/// Bindings keep their (set, binding); constants are the push constant block. The entry is `main`.
std::string glsl_of(const DialectKernel& kernel, const SourceText& source, const KernelText& text);

}  // namespace pianola::kernel_build
