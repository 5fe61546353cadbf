// SPDX-License-Identifier: Apache-2.0
#include "backend/driver_graph/memory.hpp"

#include <cstring>

namespace pianola::driver_graph {

Result<std::shared_ptr<Transfers>> Transfers::create(const DriverRef& driver) {
  const ContextScope scope(*driver);
  if (!scope.status()) return scope.status().error();
  Result<Stream> stream = driver->table().stream_create(driver->table().api);
  if (!stream) return stream.error();
  return std::shared_ptr<Transfers>(new Transfers(driver, UniqueStream(driver, *stream)));
}

Result<> Transfers::copy(const CopyCall& call) {
  if (std::optional<Error> lost = driver_->lost()) return *std::move(lost);
  const DriverTable& table = driver_->table();
  const std::lock_guard lock(mutex_);
  const ContextScope scope(*driver_);
  Result<> done = scope.status();
  if (done) done = table.stream_copy(table.api, stream_.get(), call);
  if (done) done = table.stream_synchronize(table.api, stream_.get());
  if (!done) return driver_->note(std::move(done.error()));
  return {};
}

Result<std::unique_ptr<backend::Memory>> DriverMemory::allocate(const std::shared_ptr<Transfers>& transfers,
                                                                uint64_t size, MemoryKind kind) {
  const DriverRef& driver = transfers->driver();
  if (std::optional<Error> lost = driver->lost()) return *std::move(lost);
  const ContextScope scope(*driver);
  if (!scope.status()) return scope.status().error();
  std::unique_ptr<DriverMemory> memory(new DriverMemory);
  memory->transfers_ = transfers;
  memory->on_host_ = kind != MemoryKind::device;
  const DriverTable& table = driver->table();
  Result<void*> block = memory->on_host_ ? table.allocate_host(table.api, size) : table.allocate(table.api, size);
  if (!block) {
    block.error().message += " (allocating " + std::to_string(size) + " bytes)";
    return driver->note(std::move(block.error()));
  }
  memory->address_ = *block;
  if (memory->on_host_) {
    memory->host_memory_ = UniqueHostMemory(driver, *block);
  } else {
    memory->device_memory_ = UniqueMemory(driver, *block);
  }
  return std::unique_ptr<backend::Memory>(std::move(memory));
}

Result<std::unique_ptr<backend::Memory>> DriverMemory::import(const std::shared_ptr<Transfers>& transfers,
                                                              const NativeMemory& native) {
  std::unique_ptr<DriverMemory> memory(new DriverMemory);
  memory->transfers_ = transfers;
  memory->owner_ = native.owner;
  memory->address_ = native.pointer;
  memory->on_host_ = native.kind != MemoryKind::device;
  return std::unique_ptr<backend::Memory>(std::move(memory));
}

Result<> DriverMemory::write(uint64_t offset, std::span<const std::byte> bytes) {
  if (bytes.empty()) return {};
  std::byte* at = static_cast<std::byte*>(address_) + offset;
  if (on_host_) {
    std::memcpy(at, bytes.data(), bytes.size());
    return {};
  }
  return transfers_->copy({.destination = at, .source = bytes.data(), .size = bytes.size(), .source_on_host = true});
}

Result<> DriverMemory::read(uint64_t offset, std::span<std::byte> bytes) {
  if (bytes.empty()) return {};
  const std::byte* at = static_cast<const std::byte*>(address_) + offset;
  if (on_host_) {
    std::memcpy(bytes.data(), at, bytes.size());
    return {};
  }
  return transfers_->copy(
      {.destination = bytes.data(), .source = at, .size = bytes.size(), .destination_on_host = true});
}

}  // namespace pianola::driver_graph
