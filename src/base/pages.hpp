// SPDX-License-Identifier: Apache-2.0
// Memory for long lists. A first touch costs a page fault for each page, which for a million commands takes
// longer than the work itself; big blocks therefore ask for huge pages where the system has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

namespace pianola {

/// Uninitialised bytes, 16-byte aligned; null if memory is out.
std::byte* allocate_pages(size_t size) noexcept;
/// `size` as it was asked for.
void free_pages(std::byte* block, size_t size) noexcept;

template <class T>
struct PageAllocator {
  using value_type = T;
  PageAllocator() = default;
  template <class U>
  PageAllocator(const PageAllocator<U>&) {}
  T* allocate(size_t count) {
    std::byte* block = count <= SIZE_MAX / sizeof(T) ? allocate_pages(count * sizeof(T)) : nullptr;
    if (block == nullptr) throw std::bad_alloc();
    return reinterpret_cast<T*>(block);
  }
  void deallocate(T* block, size_t count) { free_pages(reinterpret_cast<std::byte*>(block), count * sizeof(T)); }
  bool operator==(const PageAllocator&) const { return true; }
};

/// A vector for one entry a command.
template <class T>
using LongVector = std::vector<T, PageAllocator<T>>;

}  // namespace pianola
