// SPDX-License-Identifier: Apache-2.0
// Metal's values as the library's: errors, texts, sizes.
#pragma once
#import <Metal/Metal.h>

#include <array>
#include <string>

#include "backend/metal/ref.hpp"
#include "pianola/error.hpp"

namespace pianola::backend::metal {

std::string to_string(NSString* text);
Ref<NSString*> to_ns_string(std::string_view text);

/// A failed command buffer's error.
Error command_buffer_error(NSError* error);
/// Error of a call that gave nil.
Error call_error(Errc code, const char* call, const std::string& what, NSError* error);

inline MTLSize to_size(const std::array<uint32_t, 3>& size) {
  return MTLSizeMake(size[0], size[1], size[2]);
}

}  // namespace pianola::backend::metal
