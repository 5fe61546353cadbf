// SPDX-License-Identifier: Apache-2.0
#include "failing_allocator.hpp"

#include <atomic>
#include <cstddef>
#include <new>

// The linker's --wrap sends the library's calls to __wrap_*, and __real_* to the C library.
extern "C" {
void* __real_malloc(size_t size);
void* __real_realloc(void* block, size_t size);
void* __real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void* block);
}

namespace pianola::test {
namespace {

std::atomic<int64_t> live{0};
thread_local int64_t countdown = -1;  ///< allocations that still succeed; below 0: nothing is planned
thread_local Failing failing = Failing::once;
thread_local bool armed = false;
thread_local bool failed = false;

bool must_fail() {
  if (!armed || countdown < 0) return false;
  if (countdown > 0) {
    --countdown;
    return false;
  }
  if (failing == Failing::once) countdown = -1;
  failed = true;
  return true;
}

void* counted(void* block) {
  if (block != nullptr) live.fetch_add(1, std::memory_order_relaxed);
  return block;
}

void release(void* block) {
  if (block != nullptr) live.fetch_sub(1, std::memory_order_relaxed);
  __real_free(block);
}

void* allocate(size_t size, size_t alignment) {
  if (must_fail()) return nullptr;
  if (alignment <= alignof(std::max_align_t)) return counted(__real_malloc(size));
  return counted(__real_aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment));
}

void* allocate_or_throw(size_t size, size_t alignment) {
  void* block = allocate(size, alignment);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

}  // namespace

FailingAllocation::FailingAllocation(int64_t allowed, Failing how) {
  countdown = allowed;
  failing = how;
  failed = false;
}
FailingAllocation::~FailingAllocation() {
  countdown = -1;
}
bool FailingAllocation::has_failed() {
  return failed;
}
FailingAllocation::Region::Region() {
  armed = true;
}
FailingAllocation::Region::~Region() {
  armed = false;
}

int64_t live_allocations() {
  return live.load();
}

}  // namespace pianola::test

using pianola::test::allocate;
using pianola::test::allocate_or_throw;
using pianola::test::counted;
using pianola::test::must_fail;
using pianola::test::release;

extern "C" {
void* __wrap_malloc(size_t size) {
  return allocate(size, 1);
}
void* __wrap_aligned_alloc(size_t alignment, size_t size) {
  return allocate(size, alignment);
}
void* __wrap_realloc(void* block, size_t size) {
  if (must_fail()) return nullptr;
  void* moved = __real_realloc(block, size);
  return block == nullptr ? counted(moved) : moved;
}
void __wrap_free(void* block) {
  release(block);
}
}

void* operator new(size_t size) {
  return allocate_or_throw(size, 1);
}
void* operator new[](size_t size) {
  return allocate_or_throw(size, 1);
}
void* operator new(size_t size, std::align_val_t alignment) {
  return allocate_or_throw(size, static_cast<size_t>(alignment));
}
void* operator new[](size_t size, std::align_val_t alignment) {
  return allocate_or_throw(size, static_cast<size_t>(alignment));
}
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return allocate(size, 1);
}
void* operator new[](size_t size, const std::nothrow_t&) noexcept {
  return allocate(size, 1);
}
void operator delete(void* block) noexcept {
  release(block);
}
void operator delete[](void* block) noexcept {
  release(block);
}
void operator delete(void* block, size_t) noexcept {
  release(block);
}
void operator delete[](void* block, size_t) noexcept {
  release(block);
}
void operator delete(void* block, std::align_val_t) noexcept {
  release(block);
}
void operator delete[](void* block, std::align_val_t) noexcept {
  release(block);
}
void operator delete(void* block, size_t, std::align_val_t) noexcept {
  release(block);
}
void operator delete[](void* block, size_t, std::align_val_t) noexcept {
  release(block);
}
