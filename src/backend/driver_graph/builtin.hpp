// SPDX-License-Identifier: Apache-2.0
// Fills, copies and updates as the library's own kernels, and which fills a driver can do by itself.
#pragma once

#include <span>
#include <vector>

#include "pianola/device.hpp"
#include "pianola/kernel_library.hpp"
#include "record/commands.hpp"

namespace pianola::driver_graph {

/// A driver's memset; element 0 if there is none for this pattern and place.
struct NativeFill {
  uint8_t element = 0;
  uint32_t value = 0;
};
/// `alignment` is that of the first byte, a power of two.
NativeFill native_fill(std::span<const std::byte> pattern, uint32_t alignment, uint64_t size);

struct BuiltinCall {
  KernelLibrary library;
  uint32_t entry = 0;
  std::array<uint32_t, 3> groups = {1, 1, 1};
  std::vector<Range> bindings;
  std::vector<std::byte> constants;
};

/// Errors: missing_kernel, limit_exceeded.
Result<BuiltinCall> builtin_fill(const DeviceLimits& limits, const Range& destination,
                                 std::span<const std::byte> pattern);
Result<BuiltinCall> builtin_copy(const DeviceLimits& limits, const Range& destination, const Range& source);
Result<BuiltinCall> builtin_update(const Range& destination, std::span<const std::byte> bytes);
/// Most bytes that builtin_update() takes.
uint64_t builtin_update_limit();

}  // namespace pianola::driver_graph
