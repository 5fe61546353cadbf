// SPDX-License-Identifier: Apache-2.0
// Memory for many small things that are let go together. What std::pmr's monotonic resource does, which the C++ library
// of Apple's systems has from macOS 14 and iOS 17 on only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>

namespace pianola {

class Pool {
 public:
  Pool() = default;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() {
    while (blocks_ != nullptr) ::operator delete(std::exchange(blocks_, blocks_->before));
  }

  /// Room until the pool goes. `alignment` is a power of two. Throws std::bad_alloc.
  void* allocate(size_t size, size_t alignment) {
    void* at = std::align(alignment, size, at_, left_);
    if (at == nullptr) {
      add_block(size + alignment);
      at = std::align(alignment, size, at_, left_);
    }
    at_ = static_cast<std::byte*>(at) + size;
    left_ -= size;
    return at;
  }

 private:
  struct alignas(std::max_align_t) Block {
    Block* before;
  };
  void add_block(size_t room) {
    const size_t size = std::max(next_size_, sizeof(Block) + room);
    blocks_ = new (::operator new(size)) Block{blocks_};
    at_ = blocks_ + 1;
    left_ = size - sizeof(Block);
    next_size_ = 2 * size;
  }
  Block* blocks_ = nullptr;
  void* at_ = nullptr;
  size_t left_ = 0;
  size_t next_size_ = 1024;
};

/// For standard containers: memory of a pool, which must outlive them.
template <class T>
class PoolAllocator {
 public:
  using value_type = T;
  explicit PoolAllocator(Pool* pool) : pool_(pool) {}
  template <class U>
  PoolAllocator(const PoolAllocator<U>& other) : pool_(other.pool()) {}
  T* allocate(size_t count) { return static_cast<T*>(pool_->allocate(count * sizeof(T), alignof(T))); }
  void deallocate(T* /*at*/, size_t /*count*/) {}
  Pool* pool() const { return pool_; }
  template <class U>
  bool operator==(const PoolAllocator<U>& other) const {
    return pool_ == other.pool();
  }

 private:
  Pool* pool_;
};

}  // namespace pianola
