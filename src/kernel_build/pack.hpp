// SPDX-License-Identifier: Apache-2.0
// Makes a kernel library of files that other compilers made. No compiler is needed.
#pragma once

#include <string>

#include "format/kernel_library_writer.hpp"
#include "kernel_build/manifest.hpp"

namespace pianola::kernel_build {

/// Files are named relative to `folder`. What a manifest leaves out is taken from the first file that tells it; what
/// both tell must agree. Errors: io, corrupt (a file is not what its format says), mismatch, invalid_argument
/// (something that neither tells), missing_kernel (a kernel without an object, a symbol that a file lacks).
Result<format::LibraryContents> pack_kernels(const Manifest& manifest, const std::string& folder);

/// Packs what the manifest file says and writes the library file; with a `depfile`, the files it depends on as a make
/// rule.
Result<> pack_library_file(const std::string& manifest, const std::string& output, const std::string& depfile);

}  // namespace pianola::kernel_build
