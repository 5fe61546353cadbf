// SPDX-License-Identifier: Apache-2.0
// Device memory and pinned host memory.
#pragma once

#include "backend/backend.hpp"
#include "backend/driver_graph/driver.hpp"

namespace pianola::driver_graph {

/// A stream for host reads and writes, one at a time.
class Transfers {
 public:
  static Result<std::shared_ptr<Transfers>> create(const DriverRef& driver);
  /// Blocks until done. Errors: device_lost, execution_failed.
  Result<> copy(const CopyCall& call);
  const DriverRef& driver() const { return driver_; }

 private:
  Transfers(DriverRef driver, UniqueStream stream) : driver_(std::move(driver)), stream_(std::move(stream)) {}
  DriverRef driver_;
  std::mutex mutex_;
  UniqueStream stream_;
};

class DriverMemory final : public backend::Memory {
 public:
  /// Errors: out_of_memory, device_lost.
  static Result<std::unique_ptr<backend::Memory>> allocate(const std::shared_ptr<Transfers>& transfers, uint64_t size,
                                                           MemoryKind kind);
  /// Errors: invalid_argument (not of this driver, or of another device), mismatch (the host cannot reach it and was
  /// promised to), out_of_range (ends past its allocation), device_lost.
  static Result<std::unique_ptr<backend::Memory>> import(const std::shared_ptr<Transfers>& transfers,
                                                         const NativeMemory& memory);

  void* native() const override { return address_; }
  std::byte* host() const override { return on_host_ ? static_cast<std::byte*>(address_) : nullptr; }
  Result<> write(uint64_t offset, std::span<const std::byte> bytes) override;
  Result<> read(uint64_t offset, std::span<std::byte> bytes) override;
  bool on_host() const { return on_host_; }

 private:
  DriverMemory() = default;
  std::shared_ptr<Transfers> transfers_;
  UniqueMemory device_memory_;
  UniqueHostMemory host_memory_;
  std::shared_ptr<void> owner_;
  void* address_ = nullptr;
  bool on_host_ = false;
};

}  // namespace pianola::driver_graph
