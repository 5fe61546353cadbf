// SPDX-License-Identifier: Apache-2.0
// The lists' kernel library is a part of the program, so that the tool needs no file beside it.
#include "example_kernels_image.hpp"
#include "example_lists.hpp"

namespace tool {

pianola::Result<pianola::KernelLibrary> example_kernels() {
  return pianola::KernelLibrary::from_bytes(example_kernels_image());
}

}  // namespace tool
