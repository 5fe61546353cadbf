// SPDX-License-Identifier: Apache-2.0
#include "recording.hpp"
#include "upscale_kernels.hpp"

namespace upscale {

pianola::Result<pianola::KernelLibrary> load_kernels() {
  return pianola::KernelLibrary::from_bytes(upscale_kernels());
}

}  // namespace upscale
