// SPDX-License-Identifier: Apache-2.0
// Memory that has an address and no bytes: writes are dropped, reads give zeros.
#include <algorithm>

#include "backend/null/device.hpp"
#include "base/guarded.hpp"

namespace pianola::backend::null {

Result<> NullMemory::write(uint64_t /*offset*/, std::span<const std::byte> /*bytes*/) {
  return {};
}

Result<> NullMemory::read(uint64_t /*offset*/, std::span<std::byte> bytes) {
  std::ranges::fill(bytes, std::byte{0});
  return {};
}

Result<std::unique_ptr<Memory>> NullDevice::allocate(uint64_t size, MemoryKind /*kind*/) {
  return guarded([&]() -> Result<std::unique_ptr<Memory>> {
    constexpr uint64_t alignment = 4096;
    const uint64_t room = (size + alignment - 1) / alignment * alignment;
    const uintptr_t address = next_address_.fetch_add(room);
    auto* begin = reinterpret_cast<std::byte*>(address);  // NOLINT(performance-no-int-to-ptr): nothing lies there
    return std::unique_ptr<Memory>(new NullMemory(begin));
  });
}

Result<std::unique_ptr<Memory>> NullDevice::import(const NativeMemory& memory) {
  return guarded([&]() -> Result<std::unique_ptr<Memory>> {
    return std::unique_ptr<Memory>(new NullMemory(static_cast<std::byte*>(memory.pointer), memory.owner));
  });
}

}  // namespace pianola::backend::null
