// SPDX-License-Identifier: Apache-2.0
// Which fills a driver's memset can do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace pianola::driver_graph {

/// A memset's element and value; element 0 if there is none for this pattern and place.
struct NativeFill {
  uint8_t element = 0;
  uint32_t value = 0;
};

/// `alignment` is that of the first byte, a power of two; `size` is a multiple of the pattern's.
NativeFill native_fill(std::span<const std::byte> pattern, uint32_t alignment, uint64_t size);

}  // namespace pianola::driver_graph
