// SPDX-License-Identifier: Apache-2.0
// A stand-in for AMD's HSA runtime, for tests: one agent that looks like a gfx90a, so that AMD's own HIP runtime runs
// without a GPU. Device memory is host memory, and kernels are host functions found by name.
//
// What AMD's runtime asks for is done on one thread, a piece at a time, in a seeded order and with seeded delays that
// only packets' barrier bits, barrier packets and signals constrain. So a missing order shows in the bytes.
#pragma once

#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "driver/kernel.hpp"

namespace sim::hsa {

using Clock = std::chrono::steady_clock;

inline constexpr hsa_agent_t host_agent{1};
inline constexpr hsa_agent_t gpu_agent{2};
inline constexpr const char* isa_name = "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-";
inline constexpr uint32_t isa_flags = 0x3f;  // EF_AMDGPU_MACH_AMDGCN_GFX90A
inline constexpr uint64_t memory_size = uint64_t{8} << 30;
inline constexpr uint32_t shared_size = 64 * 1024;

/// The pools' handles.
enum Pool : uint64_t { pool_fine = 11, pool_coarse = 12, pool_device = 21, pool_shared = 22 };

struct Queue;

/// A handle is its address; what the vendor's header describes comes first.
struct Signal {
  amd_signal_t abi{};
  Queue* rings = nullptr;  ///< it is the doorbell of that queue
};

/// A packet or a copy under way.
struct Job {
  /// Does units begin to end - 1 of the work. Empty: there is none.
  std::function<void(uint64_t begin, uint64_t end)> run;
  uint64_t units = 0;
  uint32_t pieces = 0;  ///< 0: not started
  uint32_t next = 0;
  const void* packet_kernel = nullptr;  ///< a dispatch: its arguments are read when it starts
  hsa_kernel_dispatch_packet_t dispatch{};
  std::vector<Signal*> after;
  bool any = false;  ///< one of `after` is enough
  Signal* done = nullptr;
  Queue* queue = nullptr;
  bool is_barrier = false;
  Clock::time_point not_before;
  uint64_t start_time = 0;
};

struct Queue {
  amd_queue_t abi{};
  void* ring = nullptr;
  Signal bell;
  int64_t rung = -1;        ///< the last packet that may be taken
  uint32_t running = 0;     ///< packets taken and not done
  bool is_blocked = false;  ///< by a barrier packet
};

/// A kernel of a loaded code object; the handle that packets carry.
struct KernelCode {
  std::string name;
  uint32_t shared_bytes = 0;
  uint32_t private_bytes = 0;
  uint32_t argument_bytes = 0;
};

struct Handler {
  Signal* signal;
  hsa_signal_condition_t condition;
  hsa_signal_value_t value;
  hsa_amd_signal_handler function;
  void* argument;
};

struct Block {
  uint64_t size = 0;
  uint64_t pool = 0;
};

class Runtime {
 public:
  static Runtime& instance();

  std::mutex mutex;
  std::condition_variable changed;  ///< a signal
  std::condition_variable arrived;  ///< work, or what work waits for
  std::mt19937_64 random{1};

  void complain(const std::string& text);

  // Signals. With the lock held, and notifying.
  Signal* live_signal(hsa_signal_t handle);
  void set_signal(Signal& signal, int64_t value);

  // Memory.
  const Block* block_at(const void* pointer, uintptr_t* begin = nullptr) const;

  void add_job(Job job);

  std::map<uintptr_t, Block> memory;
  std::multimap<uintptr_t, uint64_t> locked;  ///< host memory that was made known, and its size
  uint64_t used = 0;
  std::unordered_set<Signal*> signals;
  std::vector<Handler> handlers;
  std::unordered_set<Queue*> queues;
  std::unordered_set<const void*> kernel_codes;
  int64_t code_objects = 0;  ///< readers and executables
  std::map<std::string, std::shared_ptr<const Kernel>> kernels;
  std::map<std::string, int64_t> counts;
  std::vector<std::string> complaints;

 private:
  Runtime();
  void run();
  void run_handlers();
  void take_packets(Queue& queue);
  Job job_from(const hsa_barrier_and_packet_t& packet, uint16_t type);
  bool is_ready(const Job& job, Clock::time_point now) const;
  void start(Job& job);
  void start_kernel(Job& job);
  void run_piece(size_t index, std::unique_lock<std::mutex>& lock);
  void finish(size_t index);
  Clock::duration delay();

  std::vector<std::unique_ptr<Job>> jobs_;
};

inline int64_t value_of(const Signal& signal) {
  return __atomic_load_n(&signal.abi.value, __ATOMIC_ACQUIRE);
}
bool holds(int64_t value, hsa_signal_condition_t condition, int64_t compare);
uint64_t now_ns();

/// What one of the copy and fill kernels that AMD's runtime brings along does with these arguments; empty for others.
std::function<void(uint64_t, uint64_t)> built_in_kernel(const std::string& name, const void* arguments);

}  // namespace sim::hsa
