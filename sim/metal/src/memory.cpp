// SPDX-License-Identifier: Apache-2.0
#include "memory.hpp"

#include <sys/mman.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <new>

namespace sim_metal {
namespace {

constexpr size_t page = 4096;
constexpr size_t red_zone = page;

std::mutex registry_mutex;
std::map<uintptr_t, Memory*>& registry() {
  static auto* const it = new std::map<uintptr_t, Memory*>;
  return *it;
}
std::atomic<uint32_t> next_id{1};
/// Memory of the host is mapped anew for each buffer over it, so the device's address is none of the host's.
std::atomic<uint64_t> next_mapping{uint64_t{1} << 52U};

/// Zeroed pages that cost nothing until they are touched.
void* map_pages(size_t size) {
  void* at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) throw std::bad_alloc();
  return at;
}

}  // namespace

Memory::Memory(size_t length, void* no_copy) : length_(length), id_(next_id++) {
  shadow_ = static_cast<Shadow*>(map_pages(length * sizeof(Shadow)));
  if (no_copy != nullptr) {
    base_ = static_cast<uint8_t*>(no_copy);
    gpu_address_ = next_mapping.fetch_add((length / page + 1) * page);
  } else {
    void* at = nullptr;
    if (posix_memalign(&at, page, length + 2 * red_zone) != 0) {
      munmap(shadow_, length * sizeof(Shadow));
      throw std::bad_alloc();
    }
    allocation_ = at;
    base_ = static_cast<uint8_t*>(at) + red_zone;
    gpu_address_ = address();
    std::memset(base_, 0xA5, length);  // new memory holds no zeros that a program could rely on
  }
  const std::lock_guard lock(registry_mutex);
  registry()[address()] = this;
}

Memory::~Memory() {
  {
    const std::lock_guard lock(registry_mutex);
    registry().erase(address());
  }
  if (on_free) on_free();
  std::free(allocation_);
  munmap(shadow_, length_ * sizeof(Shadow));
}

std::string Memory::name() const {
  return label.empty() ? "buffer " + std::to_string(id_) : "buffer '" + label + "'";
}

Memory* find_memory(uintptr_t at) {
  const std::lock_guard lock(registry_mutex);
  auto next = registry().upper_bound(at);
  if (next == registry().begin()) return nullptr;
  Memory* memory = std::prev(next)->second;
  return memory->contains(at) ? memory : nullptr;
}

Memory* find_near(uintptr_t at) {
  const std::lock_guard lock(registry_mutex);
  for (const auto& [base, memory] : registry()) {
    if (at + red_zone >= base && at < base + memory->length() + red_zone) return memory;
  }
  return nullptr;
}

}  // namespace sim_metal
