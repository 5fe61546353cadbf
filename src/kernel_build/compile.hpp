// SPDX-License-Identifier: Apache-2.0
// Compiles one source of the portable dialect for one target.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "kernel_build/build.hpp"
#include "kernel_build/cache.hpp"
#include "kernel_build/host_records.hpp"
#include "kernel_build/target.hpp"

namespace pianola::kernel_build {

struct Source {
  std::string path;
  std::vector<DialectKernel> kernels;  ///< in the order of the text; empty until the first host object is made
};

struct Compiled {
  std::vector<format::ObjectContents> objects;  ///< entries number the kernels of the source
  std::vector<std::string> dependencies;
};

/// What all compilations of one build share.
struct Toolchain {
  Compilers programs;
  std::vector<std::string> include_dirs;
  Cache cache;
};

/// Errors: io, compile_failed.
Result<Compiled> compile(const Source& source, const Target& target, const Toolchain& tools);

// One a kind of target.
Result<Compiled> compile_host(const Source& source, const Target& target, const Toolchain& tools);
Result<Compiled> compile_gpu(const Source& source, const Target& target, const Toolchain& tools);
Result<Compiled> compile_spirv(const Source& source, const Target& target, const Toolchain& tools);
Result<Compiled> compile_msl(const Source& source, const Target& target, const Toolchain& tools);

struct ClangOutput {
  std::vector<std::byte> bytes;
  std::vector<std::string> dependencies;
};

/// Runs clang with `extra` behind the options that all targets share, or finds what it made before.
Result<ClangOutput> run_clang(const Source& source, const Target& target, const Toolchain& tools,
                              const std::vector<std::string>& extra);

/// The same, but only the preprocessor.
Result<ClangOutput> preprocess(const Source& source, const Target& target, const Toolchain& tools,
                               const std::vector<std::string>& extra);

/// The files that a make rule names, as clang writes it.
std::vector<std::string> parse_rule(std::string_view rule);

/// A compile_failed that names file and target.
Error compile_error(const Source& source, const Target& target, std::string_view text);

/// One object with all kernels of the source, each under its own name.
format::ObjectContents whole_object(const Source& source, const Target& target, std::vector<std::byte> bytes);

}  // namespace pianola::kernel_build
