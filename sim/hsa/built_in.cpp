// SPDX-License-Identifier: Apache-2.0
// The kernels that AMD's runtime brings along for fills and copies. Their arguments stand in declared order, each
// aligned to its size, as their parameters do in ROCclr's blitcl.cpp.
#include <cstring>

#include "state.hpp"

namespace sim::hsa {
namespace {

template <class T>
T argument(const void* arguments, size_t offset) {
  T value;
  std::memcpy(&value, static_cast<const std::byte*>(arguments) + offset, sizeof value);
  return value;
}

/// (u8*, u16*, u32*, u64*, pattern, u32 pattern size, u64 offset, u64 size); one of the four pointers is not null,
/// and its element is the unit of the three numbers.
void fill(const void* arguments) {
  for (const size_t element : {8U, 4U, 2U, 1U}) {
    const size_t slot = element == 8 ? 24 : element == 4 ? 16 : element == 2 ? 8 : 0;
    auto* to = argument<std::byte*>(arguments, slot);
    if (to == nullptr) continue;
    const auto* pattern = argument<const std::byte*>(arguments, 32);
    const uint64_t bytes = argument<uint32_t>(arguments, 40) * element;
    to += argument<uint64_t>(arguments, 48) * element;
    for (uint64_t i = 0; i < argument<uint64_t>(arguments, 56); ++i) std::memcpy(to + i * bytes, pattern, bytes);
    return;
  }
}

/// (from, to, u64 offset there, u64 offset here, u64 elements, u32 element size)
void copy_aligned(const void* arguments) {
  const uint64_t element = argument<uint32_t>(arguments, 40);
  std::memcpy(argument<std::byte*>(arguments, 8) + argument<uint64_t>(arguments, 24) * element,
              argument<const std::byte*>(arguments, 0) + argument<uint64_t>(arguments, 16) * element,
              argument<uint64_t>(arguments, 32) * element);
}

/// (from, to, u64 offset there, u64 offset here, u64 count, u32 rest): bytes if the rest is 8, else words, the last of
/// which has that many bytes.
void copy_bytes(const void* arguments) {
  const uint64_t count = argument<uint64_t>(arguments, 32);
  const uint32_t rest = argument<uint32_t>(arguments, 40);
  std::memcpy(argument<std::byte*>(arguments, 8) + argument<uint64_t>(arguments, 24),
              argument<const std::byte*>(arguments, 0) + argument<uint64_t>(arguments, 16),
              rest == 8 ? count : (count - 1) * 4 + rest);
}

}  // namespace

std::function<void(uint64_t, uint64_t)> built_in_kernel(const std::string& name, const void* arguments) {
  static const std::map<std::string, void (*)(const void*)> known = {
      {"__amd_rocclr_fillBufferAligned", fill},
      {"__amd_rocclr_copyBufferAligned", copy_aligned},
      {"__amd_rocclr_copyBuffer", copy_bytes},
  };
  const auto at = known.find(name);
  if (at == known.end()) return {};
  return [run = at->second, arguments](uint64_t, uint64_t) { run(arguments); };
}

}  // namespace sim::hsa
