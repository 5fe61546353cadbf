// SPDX-License-Identifier: Apache-2.0
// Device memory: reference counted, reached from the host by write(), read() or map().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "pianola/error.hpp"
#include "pianola/types.hpp"

namespace pianola {

class Device;
class BufferView;

/// Memory that already exists and that Pianola shall use without owning it.
struct NativeMemory {
  /// A host pointer on the CPU, a device pointer on HIP and CUDA, a host pointer to the start of a page on Metal, whose
  /// documentation wants whole pages of one mapping there (mmap, vm_allocate) and none of malloc's.
  void* pointer = nullptr;
  uint64_t size = 0;            ///< bytes
  std::shared_ptr<void> owner;  ///< kept until the last use, or null: the caller keeps it alive
  MemoryKind kind = MemoryKind::device;
};

/// A handle; copies share the memory. The memory lives until the last handle, recording and
/// submission that uses it is gone. Touching memory that work in flight uses is the caller's error.
class Buffer {
 public:
  Buffer() = default;

  /// Wraps existing memory. Errors: invalid_argument (null or empty; on CUDA and HIP also memory that the driver does
  /// not know or that is another device's), out_of_range and mismatch (CUDA, HIP: it ends past its allocation; the host
  /// cannot reach it), limit_exceeded (Metal), unsupported.
  static Result<Buffer> import(const Device& device, const NativeMemory& memory);

  explicit operator bool() const { return impl_ != nullptr; }
  uint64_t size() const;
  MemoryKind kind() const;
  void* native_pointer() const;  ///< what kernels receive for offset 0

  /// Bytes [offset, offset + size); `whole_size` means up to the end. Checked when it is used.
  BufferView view(uint64_t offset, uint64_t size = whole_size) const;

  /// Copies host bytes in, or out, at a byte offset; blocks until done. Submits made after a write see it.
  /// Errors: invalid_argument (an empty handle), out_of_range, out_of_memory, device_lost.
  Result<> write(uint64_t offset, std::span<const std::byte> bytes);
  Result<> read(uint64_t offset, std::span<std::byte> bytes) const;

  template <TrivialContainer C>
  Result<> write(uint64_t offset, const C& values) {
    return write(offset, std::span<const std::byte>(bytes_of(values)));
  }
  template <TrivialContainer C>
  Result<> read(uint64_t offset, C&& values) const {
    return read(offset, std::span<std::byte>(bytes_of(values)));
  }

  /// The whole buffer as host memory, valid as long as a handle lives.
  /// Errors: invalid_argument (an empty handle), unsupported (device memory that the host cannot reach).
  Result<std::span<std::byte>> map();

  struct Impl;
  explicit Buffer(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  const std::shared_ptr<Impl>& impl() const { return impl_; }
  bool is_same(const Buffer& other) const { return impl_ == other.impl_; }

 private:
  std::shared_ptr<Impl> impl_;
};

/// A byte range of one buffer.
class BufferView {
 public:
  BufferView() = default;
  BufferView(const Buffer& buffer) : buffer_(buffer), size_(whole_size) {}
  BufferView(const Buffer& buffer, uint64_t offset, uint64_t size) : buffer_(buffer), offset_(offset), size_(size) {}

  const Buffer& buffer() const { return buffer_; }
  uint64_t offset() const { return offset_; }
  /// Bytes; a view of `whole_size` reaches the buffer's end.
  uint64_t size() const {
    if (size_ != whole_size) return size_;
    return buffer_ && offset_ <= buffer_.size() ? buffer_.size() - offset_ : 0;
  }

 private:
  Buffer buffer_;
  uint64_t offset_ = 0;
  uint64_t size_ = 0;
};

inline BufferView Buffer::view(uint64_t offset, uint64_t size) const {
  return {*this, offset, size};
}

}  // namespace pianola
