// SPDX-License-Identifier: Apache-2.0
#include "format/kernel_library_file.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace pianola::format {

uint64_t hash_of_image(std::span<const std::byte> image) {
  constexpr size_t at = offsetof(LibraryHeader, hash);
  constexpr size_t after = at + sizeof(uint64_t);
  constexpr uint64_t zero = 0;
  XXH64_state_t state;
  XXH64_reset(&state, 0);
  XXH64_update(&state, image.data(), at);
  XXH64_update(&state, &zero, sizeof(zero));
  XXH64_update(&state, image.data() + after, image.size() - after);
  return XXH64_digest(&state);
}

}  // namespace pianola::format
