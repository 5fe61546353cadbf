// SPDX-License-Identifier: Apache-2.0
#include "backend/driver_graph/builtin.hpp"

#include <algorithm>
#include <cstring>

namespace pianola::driver_graph {
namespace {

/// Length of the shortest pattern that gives the same bytes.
size_t period(std::span<const std::byte> pattern) {
  for (size_t length = 1; length < pattern.size(); length *= 2) {
    if (std::equal(pattern.begin() + static_cast<ptrdiff_t>(length), pattern.end(), pattern.begin())) return length;
  }
  return pattern.size();
}

Error no_builtin(std::string_view what) {
  return {Errc::missing_kernel, "this build has no built-in kernel for " + std::string(what), {}, {}, 0};
}

}  // namespace

NativeFill native_fill(std::span<const std::byte> pattern, uint32_t alignment, uint64_t size) {
  const size_t length = period(pattern);
  // Wider elements are faster; the pattern repeats within them.
  for (const uint8_t element : {uint8_t{4}, uint8_t{2}, uint8_t{1}}) {
    if (element < length || alignment % element != 0 || size % element != 0) continue;
    NativeFill fill{element, 0};
    std::array<std::byte, 4> bytes{};
    for (size_t i = 0; i < element; ++i) bytes[i] = pattern[i % length];
    std::memcpy(&fill.value, bytes.data(), sizeof fill.value);
    return fill;
  }
  return {};
}

Result<BuiltinCall> builtin_fill(const DeviceLimits&, const Range&, std::span<const std::byte> pattern) {
  return no_builtin("a fill with a pattern of " + std::to_string(pattern.size()) + " bytes at this alignment");
}

Result<BuiltinCall> builtin_copy(const DeviceLimits&, const Range&, const Range&) {
  return no_builtin("copies");
}

Result<BuiltinCall> builtin_update(const Range&, std::span<const std::byte>) {
  return no_builtin("updates");
}

uint64_t builtin_update_limit() {
  return 0;
}

}  // namespace pianola::driver_graph
