// SPDX-License-Identifier: Apache-2.0
// The list of files that are packed into a kernel library, and what is said about their kernels. docs/kernels.md
// describes its JSON.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pianola/error.hpp"
#include "pianola/kernel_library.hpp"

namespace pianola::kernel_build {

/// One kernel. What is left out is read from its files.
struct ManifestKernel {
  std::string name;
  std::optional<std::array<uint32_t, 3>> workgroup;
  std::optional<uint32_t> shared_bytes;
  uint32_t dynamic_shared_bytes = 0;
  bool has_arguments = false;
  std::vector<KernelBinding> bindings;
  std::vector<KernelConstant> constants;
  std::vector<uint32_t> constant_places;  ///< of each constant among all arguments
  std::optional<bool> opaque;
  std::optional<bool> may_alias;
};

struct ManifestObject {
  std::string file;
  ObjectFormat format = ObjectFormat::host;
  std::string arch;
  std::map<std::string, std::string> symbols;  ///< kernel, name in the file; a kernel not named here is left out
};

struct Manifest {
  std::string name;
  std::vector<ManifestKernel> kernels;
  std::vector<ManifestObject> objects;
};

/// Errors: corrupt (no JSON), invalid_argument (with the field).
Result<Manifest> parse_manifest(std::string_view text);

}  // namespace pianola::kernel_build
