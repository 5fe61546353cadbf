// SPDX-License-Identifier: Apache-2.0
// Queues of packets in memory that the host writes, and copies by the copy engines.
#include <cstdlib>
#include <cstring>
#include <new>

#include "state.hpp"

using namespace sim::hsa;  // NOLINT: every name below is the vendor's

namespace {

constexpr size_t packet_size = sizeof(hsa_kernel_dispatch_packet_t);

Queue* queue_of(const hsa_queue_t* queue) {
  return reinterpret_cast<Queue*>(const_cast<hsa_queue_t*>(queue));
}

uint64_t read_index(const hsa_queue_t* queue) {
  return __atomic_load_n(&queue_of(queue)->abi.read_dispatch_id, __ATOMIC_ACQUIRE);
}

}  // namespace

extern "C" {

hsa_status_t hsa_queue_create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                              void (*)(hsa_status_t, hsa_queue_t*, void*), void*, uint32_t, uint32_t,
                              hsa_queue_t** made) {
  Runtime& runtime = Runtime::instance();
  const std::lock_guard lock(runtime.mutex);
  if (agent.handle != gpu_agent.handle) return HSA_STATUS_ERROR_INVALID_AGENT;
  if (size == 0 || (size & (size - 1)) != 0) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  auto* queue = new Queue;
  queue->ring = std::aligned_alloc(packet_size, size * packet_size);
  if (queue->ring == nullptr) {
    delete queue;
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  }
  auto* packets = static_cast<hsa_kernel_dispatch_packet_t*>(queue->ring);
  for (uint32_t i = 0; i < size; ++i) packets[i].header = HSA_PACKET_TYPE_INVALID;
  queue->bell.rings = queue;
  hsa_queue_t& ring = queue->abi.hsa_queue;
  ring.type = type;
  ring.features = HSA_QUEUE_FEATURE_KERNEL_DISPATCH;
  ring.base_address = queue->ring;
  ring.doorbell_signal.handle = reinterpret_cast<uint64_t>(&queue->bell);
  ring.size = size;
  ring.id = static_cast<uint64_t>(++runtime.counts["queue"]);
  runtime.signals.insert(&queue->bell);
  runtime.queues.insert(queue);
  *made = &ring;
  return HSA_STATUS_SUCCESS;
}
hsa_status_t hsa_queue_destroy(hsa_queue_t* handle) {
  Runtime& runtime = Runtime::instance();
  const std::lock_guard lock(runtime.mutex);
  Queue* queue = queue_of(handle);
  if (runtime.queues.count(queue) == 0) return HSA_STATUS_ERROR_INVALID_QUEUE;
  const bool is_idle = queue->running == 0 && static_cast<int64_t>(queue->abi.read_dispatch_id) > queue->rung;
  if (!is_idle) runtime.complain("queue destroyed with work left");
  runtime.signals.erase(&queue->bell);
  runtime.queues.erase(queue);
  if (!is_idle) return HSA_STATUS_SUCCESS;  // its work still refers to it
  std::free(queue->ring);
  delete queue;
  return HSA_STATUS_SUCCESS;
}
uint64_t hsa_queue_add_write_index_screlease(const hsa_queue_t* queue, uint64_t value) {
  return __atomic_fetch_add(&queue_of(queue)->abi.write_dispatch_id, value, __ATOMIC_ACQ_REL);
}
uint64_t hsa_queue_load_write_index_relaxed(const hsa_queue_t* queue) {
  return __atomic_load_n(&queue_of(queue)->abi.write_dispatch_id, __ATOMIC_ACQUIRE);
}
uint64_t hsa_queue_load_read_index_relaxed(const hsa_queue_t* queue) {
  return read_index(queue);
}
uint64_t hsa_queue_load_read_index_scacquire(const hsa_queue_t* queue) {
  return read_index(queue);
}
hsa_status_t hsa_amd_queue_cu_set_mask(const hsa_queue_t*, uint32_t, const uint32_t*) {
  return HSA_STATUS_SUCCESS;
}
hsa_status_t hsa_amd_queue_set_priority(hsa_queue_t*, hsa_amd_queue_priority_t) {
  return HSA_STATUS_SUCCESS;
}
hsa_status_t hsa_amd_profiling_set_profiler_enabled(hsa_queue_t*, int) {
  return HSA_STATUS_SUCCESS;
}
hsa_status_t hsa_amd_profiling_async_copy_enable(bool) {
  return HSA_STATUS_SUCCESS;
}

hsa_status_t hsa_amd_memory_async_copy(void* to, hsa_agent_t, const void* from, hsa_agent_t, size_t size,
                                       uint32_t count, const hsa_signal_t* after, hsa_signal_t done) {
  Runtime& runtime = Runtime::instance();
  const std::lock_guard lock(runtime.mutex);
  ++runtime.counts["copy"];
  if (runtime.block_at(to) == nullptr || runtime.block_at(from) == nullptr) {
    runtime.complain("copy with memory that the device cannot see");
    return HSA_STATUS_ERROR_INVALID_ALLOCATION;
  }
  Job job;
  job.done = runtime.live_signal(done);
  for (uint32_t i = 0; i < count; ++i) {
    if (Signal* signal = runtime.live_signal(after[i])) job.after.push_back(signal);
  }
  job.units = size;
  job.run = [to, from](uint64_t begin, uint64_t end) {
    std::memcpy(static_cast<std::byte*>(to) + begin, static_cast<const std::byte*>(from) + begin, end - begin);
  };
  runtime.add_job(std::move(job));
  return HSA_STATUS_SUCCESS;
}

}  // extern "C"
