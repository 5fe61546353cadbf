// SPDX-License-Identifier: Apache-2.0
// Runs packets and copies, and the handlers of signals.
#include <algorithm>
#include <cstring>
#include <thread>

#include "state.hpp"

namespace sim::hsa {
namespace {

constexpr uint16_t field(uint16_t header, int position, int width) {
  return static_cast<uint16_t>((header >> position) & ((1 << width) - 1));
}

/// The arguments as the kernel's code would find them: addresses in order, then the constants without gaps.
KernelRun read_arguments(const std::shared_ptr<const Kernel>& kernel, const hsa_kernel_dispatch_packet_t& packet) {
  KernelRun call{kernel, {}, {}, {}};
  const auto* at = static_cast<const std::byte*>(packet.kernarg_address);
  call.buffers.resize(kernel->buffers);
  std::memcpy(call.buffers.data(), at, call.buffers.size() * sizeof(void*));
  call.constants.assign(at + call.buffers.size() * sizeof(void*),
                        at + call.buffers.size() * sizeof(void*) + kernel->constant_bytes);
  call.groups[0] = packet.grid_size_x / packet.workgroup_size_x;
  call.groups[1] = packet.grid_size_y / packet.workgroup_size_y;
  call.groups[2] = packet.grid_size_z / packet.workgroup_size_z;
  return call;
}

}  // namespace

Runtime& Runtime::instance() {
  // Never destroyed: its threads may outlive the destructors of the program's other globals.
  static Runtime* runtime = new Runtime;
  return *runtime;
}

Runtime::Runtime() {
  std::thread([this] { run(); }).detach();
  std::thread([this] { run_handlers(); }).detach();
}

void Runtime::complain(const std::string& text) {
  if (complaints.size() < 1000) complaints.push_back(text);
}

void Runtime::add_job(Job job) {
  job.not_before = Clock::now() + delay();
  jobs_.push_back(std::make_unique<Job>(std::move(job)));
  arrived.notify_all();
}

/// Most work is done at once. Some comes late, so that what was enqueued after it gets the chance to overtake.
Clock::duration Runtime::delay() {
  return random() % 4 == 0 ? std::chrono::microseconds(random() % 100) : std::chrono::microseconds(0);
}

void Runtime::run() {
  std::unique_lock lock(mutex);
  for (;;) {
    for (Queue* queue : queues) take_packets(*queue);
    const auto now = Clock::now();
    std::vector<size_t> ready;
    auto earliest = Clock::time_point::max();
    for (size_t i = 0; i < jobs_.size(); ++i) {
      if (is_ready(*jobs_[i], now)) ready.push_back(i);
      if (jobs_[i]->not_before > now) earliest = std::min(earliest, jobs_[i]->not_before);
    }
    if (!ready.empty()) {
      run_piece(ready[random() % ready.size()], lock);
    } else if (earliest != Clock::time_point::max()) {
      arrived.wait_until(lock, earliest);
    } else {
      arrived.wait(lock);
    }
  }
}

/// Packets are taken in order. One with the barrier bit waits for all before it; nothing passes a barrier packet.
void Runtime::take_packets(Queue& queue) {
  const hsa_queue_t& ring = queue.abi.hsa_queue;
  for (;;) {
    const uint64_t index = queue.abi.read_dispatch_id;
    if (queue.is_blocked || static_cast<int64_t>(index) > queue.rung) return;
    auto* slot = static_cast<hsa_barrier_and_packet_t*>(ring.base_address) + (index & (ring.size - 1));
    const uint16_t header = __atomic_load_n(&slot->header, __ATOMIC_ACQUIRE);
    const uint16_t type = field(header, HSA_PACKET_HEADER_TYPE, HSA_PACKET_HEADER_WIDTH_TYPE);
    if (type == HSA_PACKET_TYPE_INVALID) return;
    const bool waits = field(header, HSA_PACKET_HEADER_BARRIER, HSA_PACKET_HEADER_WIDTH_BARRIER) != 0;
    if (waits && queue.running != 0) return;
    Job job = job_from(*slot, type);
    job.queue = &queue;
    queue.is_blocked = job.is_barrier;
    ++queue.running;
    __atomic_store_n(&slot->header, uint16_t{HSA_PACKET_TYPE_INVALID}, __ATOMIC_RELEASE);
    __atomic_store_n(&queue.abi.read_dispatch_id, index + 1, __ATOMIC_RELEASE);
    add_job(std::move(job));
  }
}

Job Runtime::job_from(const hsa_barrier_and_packet_t& packet, uint16_t type) {
  Job job;
  if (type == HSA_PACKET_TYPE_KERNEL_DISPATCH) {
    ++counts["dispatch"];
    std::memcpy(&job.dispatch, &packet, sizeof job.dispatch);
    job.packet_kernel = reinterpret_cast<const void*>(job.dispatch.kernel_object);
    job.done = reinterpret_cast<Signal*>(job.dispatch.completion_signal.handle);
    return job;
  }
  if (type != HSA_PACKET_TYPE_BARRIER_AND && type != HSA_PACKET_TYPE_BARRIER_OR) {
    complain("packet of type " + std::to_string(type));
    return job;
  }
  ++counts["barrier"];
  job.is_barrier = true;
  job.any = type == HSA_PACKET_TYPE_BARRIER_OR;
  job.done = reinterpret_cast<Signal*>(packet.completion_signal.handle);
  for (const hsa_signal_t signal : packet.dep_signal) {
    if (signal.handle != 0) job.after.push_back(reinterpret_cast<Signal*>(signal.handle));
  }
  return job;
}

bool Runtime::is_ready(const Job& job, Clock::time_point now) const {
  if (job.pieces != 0) return true;
  if (job.not_before > now) return false;
  const auto is_zero = [](const Signal* signal) { return value_of(*signal) <= 0; };
  if (job.any && !job.after.empty()) return std::any_of(job.after.begin(), job.after.end(), is_zero);
  return std::all_of(job.after.begin(), job.after.end(), is_zero);
}

void Runtime::start(Job& job) {
  job.start_time = now_ns();
  if (job.packet_kernel != nullptr) start_kernel(job);
  job.pieces = static_cast<uint32_t>(std::clamp<uint64_t>(job.units, 1, 1 + random() % 3));
}

void Runtime::start_kernel(Job& job) {
  const auto* code = static_cast<const KernelCode*>(job.packet_kernel);
  if (kernel_codes.count(code) == 0) return complain("dispatch of a kernel that is not loaded");
  const hsa_kernel_dispatch_packet_t& packet = job.dispatch;
  if (packet.kernarg_address != nullptr && block_at(packet.kernarg_address) == nullptr) {
    return complain("arguments of " + code->name + " are not in allocated memory");
  }
  job.units = 1;
  job.run = built_in_kernel(code->name, packet.kernarg_address);
  if (job.run != nullptr) return;
  const auto kernel = kernels.find(code->name);
  if (kernel == kernels.end()) return complain("no host function is registered for kernel " + code->name);
  const uint32_t threads = uint32_t{packet.workgroup_size_x} * packet.workgroup_size_y * packet.workgroup_size_z;
  if (threads != kernel->second->workgroup_threads) return complain("workgroup is not that of " + code->name);
  if (packet.group_segment_size != code->shared_bytes + kernel->second->dynamic_shared_bytes) {
    return complain("workgroup memory is not that of " + code->name);
  }
  KernelRun call = read_arguments(kernel->second, packet);
  for (const void* buffer : call.buffers) {
    // A built-in kernel's second view of a range may begin up to 16 bytes behind it.
    if (block_at(buffer) != nullptr || block_at(static_cast<const std::byte*>(buffer) - 16) != nullptr) continue;
    return complain(code->name + " reaches memory that is not allocated");
  }
  job.units = call.group_count();
  job.run = [call = std::move(call)](uint64_t begin, uint64_t end) { call.run(begin, end); };
}

void Runtime::run_piece(size_t index, std::unique_lock<std::mutex>& lock) {
  Job& job = *jobs_[index];
  if (job.pieces == 0) start(job);
  const uint64_t begin = job.units * job.next / job.pieces;
  const uint64_t end = job.units * (job.next + 1) / job.pieces;
  ++job.next;
  if (job.run != nullptr) {
    lock.unlock();
    job.run(begin, end);
    lock.lock();
  }
  // Others may have been added meanwhile, at the end.
  if (job.next == job.pieces) finish(index);
}

void Runtime::finish(size_t index) {
  const std::unique_ptr<Job> job = std::move(jobs_[index]);
  jobs_.erase(jobs_.begin() + static_cast<ptrdiff_t>(index));
  if (job->queue != nullptr) {
    --job->queue->running;
    if (job->is_barrier) job->queue->is_blocked = false;
  }
  if (job->done == nullptr) return;
  if (signals.count(job->done) == 0) return complain("the completion signal of running work was destroyed");
  job->done->abi.start_ts = job->start_time;
  job->done->abi.end_ts = now_ns();
  set_signal(*job->done, value_of(*job->done) - 1);
}

void Runtime::run_handlers() {
  std::unique_lock lock(mutex);
  for (;;) {
    const auto due = std::find_if(handlers.begin(), handlers.end(), [](const Handler& handler) {
      return holds(value_of(*handler.signal), handler.condition, handler.value);
    });
    if (due == handlers.end()) {
      changed.wait(lock);
      continue;
    }
    const Handler handler = *due;
    handlers.erase(due);
    lock.unlock();
    const bool again = handler.function(value_of(*handler.signal), handler.argument);
    lock.lock();
    if (again) handlers.push_back(handler);
  }
}

uint64_t now_ns() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count());
}

}  // namespace sim::hsa
