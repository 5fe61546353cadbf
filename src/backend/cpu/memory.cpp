// SPDX-License-Identifier: Apache-2.0
// Host memory, whatever its kind.
#include <cstdlib>
#include <cstring>

#include "backend/cpu/device.hpp"
#include "base/guarded.hpp"

namespace pianola::backend::cpu {
namespace {

class CpuMemory : public Memory {
 public:
  explicit CpuMemory(std::byte* address) : address_(address) {}
  void* native() const override { return address_; }
  std::byte* host() const override { return address_; }
  Result<> write(uint64_t offset, std::span<const std::byte> bytes) override {
    std::memcpy(address_ + offset, bytes.data(), bytes.size());
    return {};
  }
  Result<> read(uint64_t offset, std::span<std::byte> bytes) override {
    std::memcpy(bytes.data(), address_ + offset, bytes.size());
    return {};
  }

 protected:
  std::byte* address_;
};

class OwnMemory final : public CpuMemory {
 public:
  using CpuMemory::CpuMemory;
  ~OwnMemory() override { std::free(address_); }
  OwnMemory(const OwnMemory&) = delete;
  OwnMemory& operator=(const OwnMemory&) = delete;
};

class ImportedMemory final : public CpuMemory {
 public:
  ImportedMemory(std::byte* address, std::shared_ptr<void> owner) : CpuMemory(address), owner_(std::move(owner)) {}

 private:
  std::shared_ptr<void> owner_;
};

}  // namespace

Result<std::unique_ptr<Memory>> CpuDevice::allocate(uint64_t size, MemoryKind /*kind*/) {
  constexpr uint64_t alignment = default_slot_alignment;
  const uint64_t room = (size + alignment - 1) / alignment * alignment;
  auto* address = static_cast<std::byte*>(std::aligned_alloc(alignment, room));
  if (address == nullptr) return out_of_memory();
  auto memory = guarded([&]() -> Result<std::unique_ptr<Memory>> { return std::make_unique<OwnMemory>(address); });
  if (!memory) std::free(address);
  return memory;
}

Result<std::unique_ptr<Memory>> CpuDevice::import(const NativeMemory& memory) {
  return guarded([&]() -> Result<std::unique_ptr<Memory>> {
    return std::make_unique<ImportedMemory>(static_cast<std::byte*>(memory.pointer), memory.owner);
  });
}

}  // namespace pianola::backend::cpu
