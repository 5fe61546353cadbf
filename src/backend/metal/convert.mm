// SPDX-License-Identifier: Apache-2.0
#include "backend/metal/convert.hpp"

#include <TargetConditionals.h>

namespace pianola::backend::metal {
namespace {

Errc code_of(NSError* error) {
  if (![[error domain] isEqualToString:MTLCommandBufferErrorDomain]) return Errc::execution_failed;
  switch ([error code]) {
#if TARGET_OS_OSX  // nothing is removed elsewhere
    case MTLCommandBufferErrorDeviceRemoved:
#endif
    case MTLCommandBufferErrorAccessRevoked: return Errc::device_lost;
    case MTLCommandBufferErrorOutOfMemory: return Errc::out_of_memory;
    default: return Errc::execution_failed;
  }
}

}  // namespace

std::string to_string(NSString* text) {
  const char* bytes = [text UTF8String];
  return bytes != nullptr ? bytes : "";
}

Ref<NSString*> to_ns_string(std::string_view text) {
  for (const NSStringEncoding encoding : {NSUTF8StringEncoding, NSISOLatin1StringEncoding}) {
    // Any bytes are Latin-1; Metal takes no nil.
    Ref<NSString*> made([[NSString alloc] initWithBytes:text.data() length:text.size() encoding:encoding]);
    if (made) return made;
  }
  return Ref<NSString*>([[NSString alloc] init]);
}

Error command_buffer_error(NSError* error) {
  if (error == nil) return {.code = Errc::execution_failed, .message = "the command buffer failed without a reason"};
  return {.code = code_of(error),
          .message = "the command buffer failed: " + to_string([error localizedDescription]),
          .native_call = "MTLCommandBuffer",
          .native_code = [error code]};
}

Error call_error(Errc code, const char* call, const std::string& what, NSError* error) {
  Error result{.code = code, .message = what, .native_call = call};
  if (error != nil) {
    result.message += ": " + to_string([error localizedDescription]);
    result.native_code = [error code];
  }
  return result;
}

}  // namespace pianola::backend::metal
