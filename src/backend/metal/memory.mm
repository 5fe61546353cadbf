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

constexpr uint64_t unit = 16;  ///< lengths are rounded up to it, so that blits of whole words reach the end
constexpr uint64_t word = 4;   ///< what blits need at most

}  // namespace

MetalMemory::MetalMemory(MetalDevice& device, Ref<id<MTLBuffer>> buffer, std::shared_ptr<void> owner)
    : device_(device), owner_(std::move(owner)), buffer_(std::move(buffer)) {
  native_ = reinterpret_cast<std::byte*>([buffer_.get() gpuAddress]);
  // What is managed would have to be synchronised; it is copied like private memory.
  if ([buffer_.get() storageMode] == MTLStorageModeShared) host_ = static_cast<std::byte*>([buffer_.get() contents]);
}

Result<> MetalMemory::write(uint64_t offset, std::span<const std::byte> bytes) {
  if (bytes.empty()) return {};
  if (host_ != nullptr) {
    std::memcpy(host_ + offset, bytes.data(), bytes.size());
    return {};
  }
  const uint64_t begin = offset / word * word;
  const uint64_t end = (offset + bytes.size() + word - 1) / word * word;
  Ref<id<MTLBuffer>> staging([device_.native() newBufferWithLength:end - begin options:MTLResourceStorageModeShared]);
  if (!staging) return call_error(Errc::out_of_memory, "newBufferWithLength", "no staging buffer", nil);
  if (begin != offset || end != offset + bytes.size()) {  // nobody else uses this memory now, so its words may be read
    if (auto read = device_.blit(staging.get(), 0, buffer(), begin, end - begin); !read) return read;
  }
  std::memcpy(static_cast<std::byte*>([staging.get() contents]) + (offset - begin), bytes.data(), bytes.size());
  return device_.blit(buffer(), begin, staging.get(), 0, end - begin);
}

Result<> MetalMemory::read(uint64_t offset, std::span<std::byte> bytes) {
  if (bytes.empty()) return {};
  if (host_ != nullptr) {
    std::memcpy(bytes.data(), host_ + offset, bytes.size());
    return {};
  }
  const uint64_t begin = offset / word * word;
  const uint64_t end = (offset + bytes.size() + word - 1) / word * word;
  Ref<id<MTLBuffer>> staging([device_.native() newBufferWithLength:end - begin options:MTLResourceStorageModeShared]);
  if (!staging) return call_error(Errc::out_of_memory, "newBufferWithLength", "no staging buffer", nil);
  if (auto read = device_.blit(staging.get(), 0, buffer(), begin, end - begin); !read) return read;
  std::memcpy(bytes.data(), static_cast<std::byte*>([staging.get() contents]) + (offset - begin), bytes.size());
  return {};
}

Result<> MetalDevice::blit(id<MTLBuffer> to, uint64_t to_offset, id<MTLBuffer> from, uint64_t from_offset,
                           uint64_t size) {
  @autoreleasepool {
    id<MTLCommandBuffer> commands = [transfer_queue_.get() commandBuffer];
    id<MTLBlitCommandEncoder> encoder = [commands blitCommandEncoder];
    if (encoder == nil) return call_error(Errc::out_of_memory, "blitCommandEncoder", "no command buffer", nil);
    [encoder copyFromBuffer:from sourceOffset:from_offset toBuffer:to destinationOffset:to_offset size:size];
    [encoder endEncoding];
    [commands commit];
    [commands waitUntilCompleted];
    if ([commands status] == MTLCommandBufferStatusError) return command_buffer_error([commands error]);
    return {};
  }
}

Result<std::unique_ptr<Memory>> MetalDevice::allocate(uint64_t size, MemoryKind kind) {
  const bool is_private = kind == MemoryKind::device && !limits_.unified_memory;
  const MTLResourceOptions options = is_private ? MTLResourceStorageModePrivate : MTLResourceStorageModeShared;
  const uint64_t length = std::min((size + unit - 1) / unit * unit, std::max(size, limits_.max_buffer_size));
  return guarded([&]() -> Result<std::unique_ptr<Memory>> {
    @autoreleasepool {
      Ref<id<MTLBuffer>> buffer([native() newBufferWithLength:length options:options]);
      if (!buffer) {
        return call_error(Errc::out_of_memory, "newBufferWithLength", fmt::format("no buffer of {} bytes", size), nil);
      }
      return std::unique_ptr<Memory>(std::make_unique<MetalMemory>(*this, std::move(buffer), nullptr));
    }
  });
}

/// A pointer of the host. Metal maps whole pages, so the last one is mapped to its end; nothing is written there.
Result<std::unique_ptr<Memory>> MetalDevice::import(const NativeMemory& memory) {
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
        return call_error(Errc::out_of_memory, "newBufferWithBytesNoCopy",
                          fmt::format("no buffer over {} bytes of the host", memory.size), nil);
      }
      return std::unique_ptr<Memory>(std::make_unique<MetalMemory>(*this, std::move(buffer), memory.owner));
    }
  });
}

Result<std::unique_ptr<Memory>> MetalDevice::import(id<MTLBuffer> native, std::shared_ptr<void> owner) {
  if ([native hazardTrackingMode] == MTLHazardTrackingModeUntracked) {
    return Error{.code = Errc::unsupported, .message = "import of a buffer without hazard tracking"};
  }
  return guarded([&]() -> Result<std::unique_ptr<Memory>> {
    auto buffer = Ref<id<MTLBuffer>>::retained(native);
    return std::unique_ptr<Memory>(std::make_unique<MetalMemory>(*this, std::move(buffer), std::move(owner)));
  });
}

}  // namespace pianola::backend::metal
