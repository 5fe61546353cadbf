// SPDX-License-Identifier: Apache-2.0
#include "base/pages.hpp"

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace pianola {

namespace {

constexpr size_t huge_page = size_t{2} << 20;
constexpr size_t big = 2 * huge_page;

}  // namespace

std::byte* allocate_pages(size_t size) noexcept {
  if (size < big) return static_cast<std::byte*>(::operator new(size, std::nothrow));
  void* block = ::operator new(size, std::align_val_t{huge_page}, std::nothrow);
#ifdef __linux__
  // Advice only: without huge pages everything works as before.
  if (block != nullptr) (void)madvise(block, size / huge_page * huge_page, MADV_HUGEPAGE);
#endif
  return static_cast<std::byte*>(block);
}

void free_pages(std::byte* block, size_t size) noexcept {
  if (size < big) {
    ::operator delete(block);
  } else {
    ::operator delete(block, std::align_val_t{huge_page});
  }
}

}  // namespace pianola
