// SPDX-License-Identifier: Apache-2.0
// Buffer handles: allocation, import, host access.
#include "pianola/buffer.hpp"

#include <fmt/format.h>

#include "api/impl.hpp"
#include "base/guarded.hpp"

namespace pianola {
namespace {

Result<> check_range(const Buffer::Impl& buffer, uint64_t offset, uint64_t size, std::string_view what) {
  if (offset <= buffer.size && size <= buffer.size - offset) return {};
  return Error{
      .code = Errc::out_of_range,
      .message = fmt::format("{} of {} bytes at {} ends past the buffer of {} bytes", what, size, offset, buffer.size)};
}

Error empty_buffer() {
  return Error{.code = Errc::invalid_argument, .message = "the buffer is empty"};
}

Buffer make_buffer(std::shared_ptr<Device::Impl> device, std::unique_ptr<backend::Memory> memory, uint64_t size,
                   MemoryKind kind) {
  auto impl = std::make_shared<Buffer::Impl>();
  impl->device = std::move(device);
  impl->memory = std::move(memory);
  impl->size = size;
  impl->kind = kind;
  return Buffer(std::move(impl));
}

}  // namespace

Result<Buffer> Device::allocate(uint64_t size, MemoryKind kind) const {
  return guarded([&]() -> Result<Buffer> {
    if (!impl_) return Error{.code = Errc::invalid_argument, .message = "the device is empty"};
    if (size == 0) return Error{.code = Errc::invalid_argument, .message = "a buffer has at least 1 byte, not 0"};
    if (size > limits().max_buffer_size) {
      return Error{.code = Errc::limit_exceeded,
                   .message = fmt::format("a buffer of {} bytes; the device takes {}", size, limits().max_buffer_size)};
    }
    auto memory = impl_->backend->allocate(size, kind);
    if (!memory) return memory.error();
    return make_buffer(impl_, std::move(*memory), size, kind);
  });
}

Result<Buffer> Buffer::import(const Device& device, const NativeMemory& memory) {
  return guarded([&]() -> Result<Buffer> {
    if (!device) return Error{.code = Errc::invalid_argument, .message = "the device is empty"};
    if (memory.pointer == nullptr || memory.size == 0) {
      return Error{.code = Errc::invalid_argument,
                   .message = fmt::format("memory to import is {} of {} bytes", memory.pointer, memory.size)};
    }
    if (memory.size > UINTPTR_MAX - reinterpret_cast<uintptr_t>(memory.pointer)) {
      return Error{.code = Errc::out_of_range,
                   .message = fmt::format("memory to import: {} bytes from {} end past the last address", memory.size,
                                          memory.pointer)};
    }
    auto imported = device.impl()->backend->import(memory);
    if (!imported) return imported.error();
    return make_buffer(device.impl(), std::move(*imported), memory.size, memory.kind);
  });
}

uint64_t Buffer::size() const {
  return impl_ ? impl_->size : 0;
}

MemoryKind Buffer::kind() const {
  return impl_ ? impl_->kind : MemoryKind::device;
}

void* Buffer::native_pointer() const {
  return impl_ ? impl_->memory->native() : nullptr;
}

Result<> Buffer::write(uint64_t offset, std::span<const std::byte> bytes) {
  return guarded([&]() -> Result<> {
    if (!impl_) return empty_buffer();
    if (auto fits = check_range(*impl_, offset, bytes.size(), "write"); !fits) return fits.error();
    if (bytes.empty()) return {};
    return impl_->memory->write(offset, bytes);
  });
}

Result<> Buffer::read(uint64_t offset, std::span<std::byte> bytes) const {
  return guarded([&]() -> Result<> {
    if (!impl_) return empty_buffer();
    if (auto fits = check_range(*impl_, offset, bytes.size(), "read"); !fits) return fits.error();
    if (bytes.empty()) return {};
    return impl_->memory->read(offset, bytes);
  });
}

Result<std::span<std::byte>> Buffer::map() {
  return guarded([&]() -> Result<std::span<std::byte>> {
    if (!impl_) return empty_buffer();
    std::byte* host = impl_->memory->host();
    if (host == nullptr) {
      return Error{.code = Errc::unsupported, .message = "the host cannot reach this memory; use read() and write()"};
    }
    return std::span(host, static_cast<size_t>(impl_->size));
  });
}

}  // namespace pianola
