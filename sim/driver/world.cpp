// SPDX-License-Identifier: Apache-2.0
// Objects, memory, faults on request, and what tests ask.
#include "world.hpp"

#include <execinfo.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace sim {
namespace {

/// The call stack above the caller as a number.
[[gnu::noinline]] uint64_t this_site() {
  void* frames[64];
  const int depth = backtrace(frames, 64);
  uint64_t hash = 1469598103934665603U;
  for (int i = 2; i < depth; ++i) hash = (hash ^ reinterpret_cast<uintptr_t>(frames[i])) * 1099511628211U;
  return hash;
}

}  // namespace

World& World::instance() {
  // Never destroyed: its thread may outlive the destructors of the program's other globals.
  static World* world = new World;
  return *world;
}

World::World() {
  std::thread([this] { run(); }).detach();
}

std::optional<int> World::enter(const char* call) {
  ++calls;
  ++counts[call];
  const bool fails = fail_after >= 0;
  const uint64_t site = gathers_sites || (fails && fail_site != 0) ? this_site() : 0;
  if (gathers_sites && std::find(sites.begin(), sites.end(), site) == sites.end()) sites.push_back(site);
  if (!fails || (fail_site != 0 && fail_site != site) || fail_after-- > 0) return std::nullopt;
  failed_call = call;
  return fail_status;
}

Status World::complain(const std::string& text, Status status) {
  if (complaints.size() < 1000) complaints.push_back(text);
  return status;
}

Status World::device_status(int device) const {
  if (!initialized) return Status::not_initialized;
  if (device < 0 || device >= device_count) return Status::invalid_context;
  return lost[device] ? Status::illegal_address : Status::ok;
}

Status World::release(const void* handle) {
  // AMD's runtime keeps the executable until then, in some versions only.
  const auto exec = amd ? find<Exec>(handle) : nullptr;
  if (exec != nullptr && is_launched(*exec)) complain("release of an executable graph whose launch has not ended");
  if (live.erase(handle) == 0) return complain("release of a handle that is not alive", Status::invalid_handle);
  return Status::ok;
}

Status World::allocate(uint64_t size, int device, bool on_host, void** pointer) {
  if (size == 0) return complain("allocation of 0 bytes");
  if (size > memory_per_device - used[device]) return Status::out_of_memory;
  void* block = std::aligned_alloc(512, (size + 511) / 512 * 512);
  if (block == nullptr) return Status::out_of_memory;
  // What a program must not rely on is not zero.
  if (size <= (uint64_t{64} << 20)) std::memset(block, 0xCD, size);
  const auto begin = reinterpret_cast<uintptr_t>(block);
  memory[begin] = {begin, size, device, on_host};
  used[device] += size;
  *pointer = block;
  return Status::ok;
}

bool World::is_idle(int device) {
  return std::none_of(streams.begin(), streams.end(),
                      [&](const auto& stream) { return stream->device == device && !stream->ops.empty(); });
}

bool World::is_used(const Allocation& block) const {
  const auto reaches = [&](const WorkRef& work) {
    if (work == nullptr) return false;
    const auto is_inside = [&](const void* at) { return reinterpret_cast<uintptr_t>(at) - block.begin < block.size; };
    return is_inside(work->source) || is_inside(work->destination) ||
           std::any_of(work->call.buffers.begin(), work->call.buffers.end(), is_inside);
  };
  return std::any_of(streams.begin(), streams.end(), [&](const auto& stream) {
    return std::any_of(stream->ops.begin(), stream->ops.end(), [&](const StreamOp& op) {
      return reaches(op.active.work) ||
             (op.run != nullptr && std::any_of(op.run->works.begin(), op.run->works.end(), reaches));
    });
  });
}

Status World::free(void* pointer, bool on_host, std::unique_lock<std::mutex>& lock) {
  auto at = memory.find(reinterpret_cast<uintptr_t>(pointer));
  if (at == memory.end() || at->second.on_host != on_host) {
    return complain("free of memory that was not allocated this way", Status::invalid_value);
  }
  const Allocation block = at->second;
  if (!lost[block.device] && is_used(block)) complain("free of memory that queued work uses");
  // Both vendors' free waits for the device.
  changed.wait(lock, [&] { return lost[block.device] || is_idle(block.device); });
  memory.erase(reinterpret_cast<uintptr_t>(pointer));
  used[block.device] -= block.size;
  std::free(pointer);
  return Status::ok;
}

const World::Allocation* World::allocation_of(const void* pointer) const {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  auto at = memory.upper_bound(address);
  if (at == memory.begin()) return nullptr;
  const Allocation& block = std::prev(at)->second;
  return address - block.begin < block.size ? &block : nullptr;
}

uint64_t World::room_at(const void* pointer) const {
  const Allocation* block = allocation_of(pointer);
  return block == nullptr ? 0 : block->size - (reinterpret_cast<uintptr_t>(pointer) - block->begin);
}

bool World::contains(const void* pointer, uint64_t size) const {
  const uint64_t room = room_at(pointer);
  return room != 0 && size <= room;
}

int World::memory_kind(const void* pointer) const {
  const Allocation* block = allocation_of(pointer);
  return block == nullptr ? 0 : block->on_host ? 1 : 2;
}

}  // namespace sim

namespace {
sim::World& world() {
  return sim::World::instance();
}
}  // namespace

extern "C" {

void pianola_sim_register(const pianola_sim_kernel* kernel) {
  const std::lock_guard lock(world().mutex);
  world().kernels[kernel->symbol] = sim::kernel_from(*kernel);
}

void pianola_sim_set_seed(uint64_t seed) {
  const std::lock_guard lock(world().mutex);
  world().random.seed(seed);
}

void pianola_sim_set_version(int version) {
  const std::lock_guard lock(world().mutex);
  world().version = version;
}

void pianola_sim_fail_after(int64_t calls, int status) {
  pianola_sim_fail_at(0, calls, status);
}

void pianola_sim_fail_at(uint64_t site, int64_t calls, int status) {
  const std::lock_guard lock(world().mutex);
  world().fail_site = site;
  world().fail_after = calls;
  world().fail_status = status;
  world().failed_call.clear();
}

void pianola_sim_gather_sites(int on) {
  const std::lock_guard lock(world().mutex);
  world().gathers_sites = on != 0;
  if (on != 0) world().sites.clear();
}

size_t pianola_sim_sites(uint64_t* sites, size_t room) {
  const std::lock_guard lock(world().mutex);
  const std::vector<uint64_t>& all = world().sites;
  std::copy_n(all.begin(), std::min(room, all.size()), sites);
  return all.size();
}

const char* pianola_sim_failed_call(void) {
  const std::lock_guard lock(world().mutex);
  return world().failed_call.c_str();
}

int64_t pianola_sim_call_count(void) {
  const std::lock_guard lock(world().mutex);
  return world().calls;
}

void pianola_sim_hold(const char* symbol) {
  const std::lock_guard lock(world().mutex);
  world().held_kernel = symbol;
  world().arrived.notify_all();
}

int64_t pianola_sim_held(void) {
  const std::lock_guard lock(world().mutex);
  int64_t count = 0;
  for (const auto& stream : world().streams) {
    count += std::count_if(stream->ops.begin(), stream->ops.end(), [](const auto& op) { return world().is_held(op); });
  }
  return count;
}

void pianola_sim_fault_after(int64_t pieces) {
  const std::lock_guard lock(world().mutex);
  world().fault_after = pieces;
}

void pianola_sim_revive(void) {
  const std::lock_guard lock(world().mutex);
  for (const auto& stream : world().streams) {
    if (!world().lost[stream->device]) continue;
    // Nothing runs any more, and nobody may wait for it: what it was to record counts as recorded.
    for (const auto& op : stream->ops) {
      if (op.event != nullptr && !op.is_wait) op.event->done = std::max(op.event->done, op.value);
    }
    stream->ops.clear();
  }
  for (bool& lost : world().lost) lost = false;
  world().changed.notify_all();
}

int64_t pianola_sim_live_objects(void) {
  const std::lock_guard lock(world().mutex);
  int64_t count = static_cast<int64_t>(world().live.size());
  for (const int references : world().contexts) count += references;
  return count;
}

int64_t pianola_sim_live_bytes(void) {
  const std::lock_guard lock(world().mutex);
  int64_t bytes = 0;
  for (const auto& [address, block] : world().memory) bytes += static_cast<int64_t>(block.size);
  return bytes;
}

int64_t pianola_sim_count(const char* call) {
  const std::lock_guard lock(world().mutex);
  const auto at = world().counts.find(call);
  return at == world().counts.end() ? 0 : at->second;
}

int pianola_sim_complaints(char* text, size_t size) {
  const std::lock_guard lock(world().mutex);
  std::string all;
  for (const std::string& line : world().complaints) all += line + "\n";
  if (size != 0) {
    const size_t length = std::min(size - 1, all.size());
    std::memcpy(text, all.data(), length);
    text[length] = 0;
  }
  return static_cast<int>(world().complaints.size());
}

void pianola_sim_forget_complaints(void) {
  const std::lock_guard lock(world().mutex);
  world().complaints.clear();
}

}  // extern "C"
