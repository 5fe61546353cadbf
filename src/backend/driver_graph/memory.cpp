// SPDX-License-Identifier: Apache-2.0
#include "backend/driver_graph/memory.hpp"

#include <fmt/format.h>

#include <cstring>

namespace pianola::driver_graph {
namespace {

/// One address that the device cannot reach would fault, and a fault loses the context.
Result<> check_native(Driver& driver, const NativeMemory& native) {
  if (std::optional<Error> lost = driver.lost()) return *std::move(lost);
  const DriverTable& table = driver.table();
  const ContextScope scope(driver);
  if (!scope.status()) return scope.status();
  Result<PointerFacts> facts = table.pointer_facts(table.api, native.pointer);
  if (!facts) {
    facts.error().message = fmt::format("{} is not memory that this driver allocated or registered: {}", native.pointer,
                                        facts.error().message);
    return driver.note(std::move(facts.error()));
  }
  const auto refuse = [](Errc code, std::string why) { return Error{code, std::move(why), {}, {}, 0}; };
  if (facts->device != table.device) {
    return refuse(Errc::invalid_argument, fmt::format("{} belongs to device {}, not to device {}", native.pointer,
                                                      facts->device, table.device));
  }
  if (native.kind != MemoryKind::device && !facts->on_host) {
    return refuse(Errc::mismatch, fmt::format("{} is device memory, which the host cannot reach", native.pointer));
  }
  const uint64_t offset = reinterpret_cast<uintptr_t>(native.pointer) - facts->begin;
  if (facts->size != 0 && (offset > facts->size || native.size > facts->size - offset)) {
    return refuse(Errc::out_of_range,
                  fmt::format("{} bytes from {} on end past their allocation, {} bytes from {:#x} on", native.size,
                              native.pointer, facts->size, facts->begin));
  }
  return {};
}

}  // namespace

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
  if (!scope.status()) return scope.status();
  Result<> done = table.stream_copy(table.api, stream_.get(), call);
  if (done) done = table.stream_synchronize(table.api, stream_.get());
  if (done) return {};
  // The call failed, not the copy: the caller's memory is used until that has ended.
  (void)table.stream_synchronize(table.api, stream_.get());
  return driver_->note(std::move(done.error()));
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
  if (auto checked = check_native(*transfers->driver(), native); !checked) return checked.error();
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
