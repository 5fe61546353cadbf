// SPDX-License-Identifier: Apache-2.0
// Compiles one source of the portable dialect for one target.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "kernel_build/build.hpp"
#include "kernel_build/target.hpp"

namespace pianola::kernel_build {

struct CompiledFile {
  std::vector<std::byte> bytes;
  std::vector<std::string> dependencies;
};

/// Errors: io, compile_failed.
Result<CompiledFile> compile_host(const std::string& source, const Target& target, const BuildOptions& options);

}  // namespace pianola::kernel_build
