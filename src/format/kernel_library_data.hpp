// SPDX-License-Identifier: Apache-2.0
// What a loaded kernel library consists of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pianola/kernel_library.hpp"

namespace pianola {

struct KernelLibrary::Data {
  std::unique_ptr<std::byte[]> image;  ///< objects point into it
  std::string name;
  std::vector<KernelInfo> kernels;
  std::vector<uint32_t> by_name;  ///< kernels in order of their names
  std::vector<CodeObject> objects;
  uint64_t hash = 0;
};

namespace format {

/// Verifies an image and describes it. `size` bytes at `image` become the library's own.
/// Errors: corrupt, version, out_of_memory.
Result<std::shared_ptr<const KernelLibrary::Data>> read_library(std::unique_ptr<std::byte[]> image, size_t size);

}  // namespace format
}  // namespace pianola
