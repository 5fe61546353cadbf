// SPDX-License-Identifier: Apache-2.0
// Shared buffers are reached directly; private ones, on devices with memory of their own, through a staging buffer.
#include <fmt/format.h>
#include <unistd.h>

#include <cstring>

#include "backend/metal/convert.hpp"
#include "backend/metal/device.hpp"
#include "base/guarded.hpp"

namespace pianola::backend::metal {
namespace {

/// Staged bytes lie in their 16-byte block as the memory's do, so that whole blocks can be copied.
constexpr uint64_t block = 16;

}  // namespace

MetalMemory::MetalMemory(MetalDevice& device, Ref<id<MTLBuffer>> buffer, std::shared_ptr<void> owner)
    : device_(device), owner_(std::move(owner)), buffer_(std::move(buffer)) {}

MetalMemory::~MetalMemory() {
  if (native_ != nullptr) device_.buffers().remove((void*)buffer());
}

Result<std::unique_ptr<Memory>> MetalMemory::make(MetalDevice& device, Ref<id<MTLBuffer>> buffer,
                                                  std::shared_ptr<void> owner) {
  auto memory = std::make_unique<MetalMemory>(device, std::move(buffer), std::move(owner));
  id<MTLBuffer> native = memory->buffer();
  const bool is_private = [native storageMode] == MTLStorageModePrivate;
  auto* const host = is_private ? nullptr : static_cast<std::byte*>([native contents]);
  const bool has_address = [native respondsToSelector:@selector(gpuAddress)];  // not so on every virtual GPU
  const auto address = device.buffers().add({.buffer = (void*)native,
                                             .gpu_address = has_address ? [native gpuAddress] : 0,
                                             .host = host,
                                             .size = [native length]});
  if (!address) return address.error();
  memory->native_ = *address;
  // What is managed would have to be synchronised; it is copied like private memory.
  if ([native storageMode] == MTLStorageModeShared) memory->host_ = host;
  return std::unique_ptr<Memory>(std::move(memory));
}

Result<> MetalMemory::write(uint64_t offset, std::span<const std::byte> bytes) {
  if (bytes.empty()) return {};
  if (host_ != nullptr) {
    std::memcpy(host_ + offset, bytes.data(), bytes.size());
    return {};
  }
  const uint64_t at = offset % block;
  Ref<id<MTLBuffer>> staging([device_.native() newBufferWithLength:at + bytes.size()
                                                           options:MTLResourceStorageModeShared]);
  if (!staging) return call_error(Errc::out_of_memory, "newBufferWithLength", "no staging buffer", nil);
  std::memcpy(static_cast<std::byte*>([staging.get() contents]) + at, bytes.data(), bytes.size());
  return device_.copy({buffer(), offset}, {staging.get(), at}, bytes.size());
}

Result<> MetalMemory::read(uint64_t offset, std::span<std::byte> bytes) {
  if (bytes.empty()) return {};
  if (host_ != nullptr) {
    std::memcpy(bytes.data(), host_ + offset, bytes.size());
    return {};
  }
  const uint64_t at = offset % block;
  Ref<id<MTLBuffer>> staging([device_.native() newBufferWithLength:at + bytes.size()
                                                           options:MTLResourceStorageModeShared]);
  if (!staging) return call_error(Errc::out_of_memory, "newBufferWithLength", "no staging buffer", nil);
  if (auto copied = device_.copy({staging.get(), at}, {buffer(), offset}, bytes.size()); !copied) return copied;
  std::memcpy(bytes.data(), static_cast<const std::byte*>([staging.get() contents]) + at, bytes.size());
  return {};
}

Result<std::unique_ptr<Memory>> MetalDevice::allocate(uint64_t size, MemoryKind kind) {
  if (auto is_there = loss_.check(); !is_there) return is_there.error();
  const bool is_private = kind == MemoryKind::device && !limits_.unified_memory;
  const MTLResourceOptions options = is_private ? MTLResourceStorageModePrivate : MTLResourceStorageModeShared;
  return guarded([&]() -> Result<std::unique_ptr<Memory>> {
    @autoreleasepool {
      Ref<id<MTLBuffer>> buffer([native() newBufferWithLength:size options:options]);
      if (!buffer) {
        return call_error(Errc::out_of_memory, "newBufferWithLength", fmt::format("no buffer of {} bytes", size), nil);
      }
      return MetalMemory::make(*this, std::move(buffer), nullptr);
    }
  });
}

/// A pointer of the host. Metal maps whole pages, so the last one is mapped to its end; nothing is written there.
Result<std::unique_ptr<Memory>> MetalDevice::import(const NativeMemory& memory) {
  if (auto is_there = loss_.check(); !is_there) return is_there.error();
  if (buffers_.is_of_device(memory.pointer)) {
    return Error{
        .code = Errc::unsupported,
        .message = fmt::format("Metal imports memory of the host, {} is an address of the device's", memory.pointer)};
  }
  const auto page = static_cast<uint64_t>(getpagesize());
  if (reinterpret_cast<uintptr_t>(memory.pointer) % page != 0) {
    return Error{.code = Errc::unsupported,
                 .message = fmt::format("Metal imports host memory from a page on, {} is no multiple of {} bytes",
                                        memory.pointer, page)};
  }
  const uint64_t length = (memory.size + page - 1) / page * page;
  if (memory.size > limits_.max_buffer_size || length > limits_.max_buffer_size) {
    return Error{
        .code = Errc::limit_exceeded,
        .message = fmt::format("import of {} bytes; the device takes {}", memory.size, limits_.max_buffer_size)};
  }
  return guarded([&]() -> Result<std::unique_ptr<Memory>> {
    @autoreleasepool {
      Ref<id<MTLBuffer>> buffer([native() newBufferWithBytesNoCopy:memory.pointer
                                                            length:length
                                                           options:MTLResourceStorageModeShared
                                                       deallocator:nil]);
      if (!buffer) {
        return call_error(Errc::unsupported, "newBufferWithBytesNoCopy",
                          fmt::format("no buffer over {} bytes of the host: they must be of one mapping (mmap, not "
                                      "malloc) that can be written",
                                      memory.size),
                          nil);
      }
      return MetalMemory::make(*this, std::move(buffer), memory.owner);
    }
  });
}

Result<std::unique_ptr<Memory>> MetalDevice::import(id<MTLBuffer> native, std::shared_ptr<void> owner) {
  if (auto is_there = loss_.check(); !is_there) return is_there.error();
  if ([native hazardTrackingMode] == MTLHazardTrackingModeUntracked) {
    return Error{.code = Errc::unsupported, .message = "import of a buffer without hazard tracking"};
  }
  return guarded([&] { return MetalMemory::make(*this, Ref<id<MTLBuffer>>::retained(native), std::move(owner)); });
}

}  // namespace pianola::backend::metal
