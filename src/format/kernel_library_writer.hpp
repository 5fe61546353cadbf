// SPDX-License-Identifier: Apache-2.0
// Makes the bytes of a kernel library file.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "pianola/error.hpp"
#include "pianola/kernel_library.hpp"

namespace pianola::format {

/// An object that owns its bytes.
struct ObjectContents {
  ObjectFormat format = ObjectFormat::host;
  std::string arch;
  std::vector<std::byte> bytes;
  std::vector<CodeObject::Entry> entries;
};

struct LibraryContents {
  std::string name;
  std::vector<KernelInfo> kernels;
  std::vector<ObjectContents> objects;
};

/// The file's bytes; the same contents give the same bytes. Contents that a reader would refuse are refused here:
/// Errors: invalid_argument, limit_exceeded, out_of_memory.
Result<std::vector<std::byte>> write_library(const LibraryContents& contents);

}  // namespace pianola::format
