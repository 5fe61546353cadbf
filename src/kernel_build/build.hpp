// SPDX-License-Identifier: Apache-2.0
// Builds a kernel library from sources in the portable dialect.
#pragma once

#include <string>
#include <vector>

#include "format/kernel_library_writer.hpp"
#include "kernel_build/target.hpp"
#include "pianola/error.hpp"

namespace pianola::kernel_build {

struct BuildOptions {
  std::string name;  ///< of the library
  std::vector<std::string> sources;
  std::vector<Target> targets;
  std::vector<std::string> include_dirs;  ///< one of them holds pianola/kernel.h
  std::string clang = "clang-19";         ///< a path, or a name to look up in PATH
};

struct BuildResult {
  format::LibraryContents contents;
  std::vector<std::string> dependencies;  ///< every file that was read
};

/// Errors: io, invalid_argument (two kernels of one name), compile_failed (with file, target and the compiler's
/// text), unsupported (a kernel needs something that no target has).
Result<BuildResult> build_kernels(const BuildOptions& options);

/// The dependencies as a make rule.
std::string make_rule(const std::string& output, const std::vector<std::string>& dependencies);

}  // namespace pianola::kernel_build
