// SPDX-License-Identifier: Apache-2.0
// Where SPIR-V kernels find their constants: one rule for who writes such a module and for who binds it.
//
// A block of up to 128 bytes is push constants, since Vulkan guarantees no more. A larger one is a read-only storage
// buffer right behind the kernel's last binding, in the same set. In a module its block is named `PianolaConstants`.
#pragma once

#include <string_view>

#include "pianola/kernel_library.hpp"

namespace pianola {

constexpr uint32_t most_push_constant_bytes = 128;
constexpr std::string_view constants_block = "PianolaConstants";

struct DescriptorPlace {
  uint32_t set = 0;
  uint32_t binding = 0;
  friend auto operator<=>(const DescriptorPlace&, const DescriptorPlace&) = default;
};

inline bool has_constants_buffer(const KernelInfo& kernel) {
  return kernel.constant_bytes > most_push_constant_bytes;
}

inline DescriptorPlace constants_place(const KernelInfo& kernel) {
  if (kernel.bindings.empty()) return {};
  return {.set = kernel.bindings.back().set, .binding = kernel.bindings.back().binding + 1};
}

}  // namespace pianola
