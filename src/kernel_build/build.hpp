// SPDX-License-Identifier: Apache-2.0
// Builds a kernel library from sources in the portable dialect.
#pragma once

#include <string>
#include <vector>

#include "format/kernel_library_writer.hpp"
#include "kernel_build/target.hpp"
#include "pianola/error.hpp"

namespace pianola::kernel_build {

/// The programs that compile; each a path, or a name to look up in PATH.
struct Compilers {
  std::string clang = "clang-19";
  std::string glslang = "glslangValidator";
};

struct BuildOptions {
  std::string name;  ///< of the library
  std::vector<std::string> sources;
  std::vector<Target> targets;
  std::vector<std::string> include_dirs;  ///< one of them holds pianola/kernel.h
  Compilers compilers;
  std::string cache;  ///< folder that keeps compiled objects by content; empty: none
  uint32_t jobs = 0;  ///< compilers at a time; 0: one a processor
};

struct BuildResult {
  format::LibraryContents contents;
  std::vector<std::string> dependencies;  ///< every file that was read
};

/// Errors: io, invalid_argument (two kernels of one name), unsupported (what is not part of the dialect),
/// limit_exceeded, compile_failed (with file, target and the compiler's text), mismatch (two targets' files disagree
/// about a kernel).
Result<BuildResult> build_kernels(const BuildOptions& options);

/// Builds and writes the library file; with a `depfile`, the files it depends on as a make rule. Errors: those of
/// build_kernels(); before any work, outputs that cannot be written or would be written over what is read.
Result<> build_library_file(const BuildOptions& options, const std::string& output, const std::string& depfile);

}  // namespace pianola::kernel_build
