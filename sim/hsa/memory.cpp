// SPDX-License-Identifier: Apache-2.0
// Memory pools: two of the host's, one of the device's, and the workgroups' shared memory, which nobody allocates.
#include <cstdlib>
#include <cstring>

#include "state.hpp"

namespace sim::hsa {
namespace {

constexpr size_t page = 4096;

/// The entry of an ordered map of ranges that holds the address, or the end.
template <class Map, class SizeOf>
auto entry_at(const Map& map, uintptr_t address, SizeOf size_of) {
  auto at = map.upper_bound(address);
  if (at == map.begin()) return map.end();
  --at;
  return address - at->first < size_of(at->second) ? at : map.end();
}

uint32_t global_flags(uint64_t pool) {
  return pool == pool_fine ? HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT | HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED
                           : HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED;
}

/// What is not written must not be relied on. Large blocks are the runtime's own, and would cost a page fault a page.
void spoil(void* at, uint64_t size, int value) {
  if (size <= (uint64_t{256} << 10)) std::memset(at, value, size);
}

}  // namespace

const Block* Runtime::block_at(const void* pointer, uintptr_t* begin) const {
  static constexpr Block host{0, pool_fine};
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  const auto at = entry_at(memory, address, [](const Block& block) { return block.size; });
  if (at != memory.end()) {
    if (begin != nullptr) *begin = at->first;
    return &at->second;
  }
  return entry_at(locked, address, [](uint64_t size) { return size; }) == locked.end() ? nullptr : &host;
}

}  // namespace sim::hsa

using namespace sim::hsa;  // NOLINT: every name below is the vendor's

extern "C" {

hsa_status_t hsa_amd_agent_iterate_memory_pools(hsa_agent_t agent, hsa_status_t (*visit)(hsa_amd_memory_pool_t, void*),
                                                void* data) {
  const bool is_host = agent.handle == host_agent.handle;
  for (const Pool pool : {is_host ? pool_fine : pool_device, is_host ? pool_coarse : pool_shared}) {
    const hsa_status_t status = visit({pool}, data);
    if (status != HSA_STATUS_SUCCESS) return status;
  }
  return HSA_STATUS_SUCCESS;
}
hsa_status_t hsa_amd_memory_pool_get_info(hsa_amd_memory_pool_t pool, hsa_amd_memory_pool_info_t what, void* out) {
  const bool is_shared = pool.handle == pool_shared;
  switch (what) {
    case HSA_AMD_MEMORY_POOL_INFO_SEGMENT:
      *static_cast<hsa_amd_segment_t*>(out) = is_shared ? HSA_AMD_SEGMENT_GROUP : HSA_AMD_SEGMENT_GLOBAL;
      return HSA_STATUS_SUCCESS;
    case HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS:
      *static_cast<uint32_t*>(out) = global_flags(pool.handle);
      return HSA_STATUS_SUCCESS;
    case HSA_AMD_MEMORY_POOL_INFO_SIZE:
    case HSA_AMD_MEMORY_POOL_INFO_ALLOC_MAX_SIZE:
      *static_cast<size_t*>(out) = is_shared ? shared_size : memory_size;
      return HSA_STATUS_SUCCESS;
    case HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_GRANULE:
    case HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALIGNMENT: *static_cast<size_t*>(out) = page; return HSA_STATUS_SUCCESS;
    case HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED:
      *static_cast<bool*>(out) = !is_shared;
      return HSA_STATUS_SUCCESS;
    case HSA_AMD_MEMORY_POOL_INFO_ACCESSIBLE_BY_ALL:
      *static_cast<bool*>(out) = pool.handle == pool_fine || pool.handle == pool_coarse;
      return HSA_STATUS_SUCCESS;
    default: return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
}
hsa_status_t hsa_amd_agent_memory_pool_get_info(hsa_agent_t agent, hsa_amd_memory_pool_t pool,
                                                hsa_amd_agent_memory_pool_info_t what, void* out) {
  if (what == HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS) {
    const bool never = agent.handle == host_agent.handle && pool.handle >= pool_device;
    *static_cast<hsa_amd_memory_pool_access_t*>(out) =
        never ? HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED : HSA_AMD_MEMORY_POOL_ACCESS_ALLOWED_BY_DEFAULT;
    return HSA_STATUS_SUCCESS;
  }
  if (what == HSA_AMD_AGENT_MEMORY_POOL_INFO_NUM_LINK_HOPS) {
    *static_cast<uint32_t*>(out) = 0;
    return HSA_STATUS_SUCCESS;
  }
  return HSA_STATUS_ERROR_INVALID_ARGUMENT;
}

hsa_status_t hsa_amd_memory_pool_allocate(hsa_amd_memory_pool_t pool, size_t size, uint32_t, void** pointer) {
  Runtime& runtime = Runtime::instance();
  const std::lock_guard lock(runtime.mutex);
  if (size == 0 || pool.handle == pool_shared) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  if (size > memory_size - runtime.used) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  void* block = std::aligned_alloc(page, (size + page - 1) / page * page);
  if (block == nullptr) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  spoil(block, size, 0xCD);
  runtime.memory[reinterpret_cast<uintptr_t>(block)] = {size, pool.handle};
  runtime.used += size;
  *pointer = block;
  return HSA_STATUS_SUCCESS;
}
hsa_status_t hsa_amd_memory_pool_free(void* pointer) {
  if (pointer == nullptr) return HSA_STATUS_SUCCESS;
  Runtime& runtime = Runtime::instance();
  const std::lock_guard lock(runtime.mutex);
  const auto at = runtime.memory.find(reinterpret_cast<uintptr_t>(pointer));
  if (at == runtime.memory.end()) {
    runtime.complain("free of memory that was not allocated");
    return HSA_STATUS_ERROR_INVALID_ALLOCATION;
  }
  spoil(pointer, at->second.size, 0xDD);
  runtime.used -= at->second.size;
  runtime.memory.erase(at);
  std::free(pointer);
  return HSA_STATUS_SUCCESS;
}
hsa_status_t hsa_amd_agents_allow_access(uint32_t, const hsa_agent_t*, const uint32_t*, const void*) {
  return HSA_STATUS_SUCCESS;
}
hsa_status_t hsa_amd_coherency_set_type(hsa_agent_t, hsa_amd_coherency_type_t) {
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_memory_lock_to_pool(void* host, size_t size, hsa_agent_t*, int, hsa_amd_memory_pool_t, uint32_t,
                                         void** device) {
  Runtime& runtime = Runtime::instance();
  const std::lock_guard lock(runtime.mutex);
  runtime.locked.emplace(reinterpret_cast<uintptr_t>(host), size);
  *device = host;
  return HSA_STATUS_SUCCESS;
}
hsa_status_t hsa_amd_memory_unlock(void* host) {
  Runtime& runtime = Runtime::instance();
  const std::lock_guard lock(runtime.mutex);
  const auto at = runtime.locked.find(reinterpret_cast<uintptr_t>(host));
  if (at == runtime.locked.end()) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  runtime.locked.erase(at);
  return HSA_STATUS_SUCCESS;
}
hsa_status_t hsa_amd_pointer_info(const void* pointer, hsa_amd_pointer_info_t* info, void* (*)(size_t),
                                  uint32_t* agent_count, hsa_agent_t**) {
  Runtime& runtime = Runtime::instance();
  const std::lock_guard lock(runtime.mutex);
  const uint32_t size = info->size;
  *info = {};
  info->size = size;
  if (agent_count != nullptr) *agent_count = 0;
  uintptr_t begin = 0;
  const Block* block = runtime.block_at(pointer, &begin);
  if (block == nullptr || begin == 0) return HSA_STATUS_SUCCESS;  // of type unknown
  info->type = HSA_EXT_POINTER_TYPE_HSA;
  info->agentBaseAddress = info->hostBaseAddress = reinterpret_cast<void*>(begin);
  info->sizeInBytes = block->size;
  info->agentOwner = block->pool == pool_device ? gpu_agent : host_agent;
  info->global_flags = global_flags(block->pool);
  return HSA_STATUS_SUCCESS;
}
hsa_status_t hsa_memory_copy(void* to, const void* from, size_t size) {
  std::memcpy(to, from, size);
  return HSA_STATUS_SUCCESS;
}
hsa_status_t hsa_memory_register(void*, size_t) {
  return HSA_STATUS_SUCCESS;
}
hsa_status_t hsa_memory_deregister(void*, size_t) {
  return HSA_STATUS_SUCCESS;
}

}  // extern "C"
