// SPDX-License-Identifier: Apache-2.0
// Any bytes as a kernel library: an error or a library whose every part can be read, never a crash.
#include <cstddef>
#include <cstdint>
#include <span>

#include "pianola/kernel_library.hpp"

namespace {

volatile size_t sink = 0;

void read_all(const pianola::KernelLibrary& library) {
  size_t sum = library.name().size() + library.hash();
  for (const pianola::KernelInfo& kernel : library.kernels()) {
    sum += kernel.name.size() + kernel.constant_bytes + kernel.shared_bytes;
    for (const auto& binding : kernel.bindings) sum += binding.name.size() + binding.set + binding.binding;
    for (const auto& constant : kernel.constants) sum += constant.name.size() + constant.offset + constant.size;
    if (!library[kernel.name].is_present()) __builtin_trap();
  }
  for (const pianola::CodeObject& object : library.objects()) {
    sum += object.arch.size();
    for (const std::byte byte : object.bytes) sum += static_cast<size_t>(byte);
    for (const auto& entry : object.entries) sum += library.kernels()[entry.kernel].name.size() + entry.symbol.size();
  }
  sink = sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto library = pianola::KernelLibrary::from_bytes(std::as_bytes(std::span(data, size)));
  if (library) {
    read_all(*library);
  } else if (library.error().message.empty()) {
    __builtin_trap();
  }
  return 0;
}
