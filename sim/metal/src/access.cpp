// SPDX-License-Identifier: Apache-2.0
#include "access.hpp"

#include <cstring>

#include "control.hpp"
#include "hazards.hpp"

namespace sim_metal {
namespace {

thread_local Execution* current = nullptr;

/// Abandons the kernel: kernels have no destructors, so that leaving by a jump is safe. Nor may callers have any.
[[noreturn]] void leave(Execution& x) {
  x.faulted = true;
  if (x.fibers != nullptr) x.fibers->abandon();
  longjmp(x.fault, 1);
}

const char* verb(bool write) {
  return write ? "writes" : "reads";
}

void report_stray(const Execution& x, uintptr_t at, size_t size, bool write) {
  const std::string who = describe(*x.command);
  if (Memory* inside = find_memory(at)) {
    report("residency", "%s %s byte %zu of %s, which is neither bound nor made resident by useResource:", who.c_str(),
           verb(write), at - inside->address(), inside->name().c_str());
  } else if (Memory* near = find_near(at)) {
    report("bounds", "%s %s %zu bytes at offset %ld of %s, which has %zu", who.c_str(), verb(write), size,
           static_cast<long>(at - near->address()), near->name().c_str(), near->length());
  } else {
    report("page fault", "%s %s address %#lx, which is no buffer", who.c_str(), verb(write),
           static_cast<unsigned long>(at));
  }
}

[[noreturn]] void refuse(Execution& x, const Memory& memory, size_t offset, bool write, const char* rule,
                         const char* why) {
  report(rule, "%s %s byte %zu of %s: %s", describe(*x.command).c_str(), verb(write), offset, memory.name().c_str(),
         why);
  leave(x);
}

const Execution::Reach* find_reach(Execution& x, uintptr_t at) {
  if (x.last != nullptr && x.last->memory->contains(at)) return x.last;
  for (const auto& reach : x.reach) {
    if (reach.memory->contains(at)) return x.last = &reach;
  }
  return nullptr;
}

/// An access of this size outside buffers: the stack, what setBytes holds, threadgroup memory.
void check_allowed(Execution& x, uintptr_t at, size_t size, bool write, bool is_aligned) {
  for (const auto& [begin, end] : x.allowed) {
    if (at < begin || at + size > end) continue;
    if (is_aligned) return;
    report("alignment", "%s %s %zu bytes at address %#lx, which is not aligned to them", describe(*x.command).c_str(),
           verb(write), size, static_cast<unsigned long>(at));
    leave(x);
  }
  report_stray(x, at, size, write);
  leave(x);
}

enum class Kind : uint8_t { whole, atomic, bytes };  ///< of bytes, alignment is not known

/// Every load and store of a kernel arrives here before it happens.
void access(uintptr_t at, size_t size, bool write, Kind kind = Kind::whole) {
  Execution* const x = current;
  if (x == nullptr) return;
  const bool is_aligned = kind == Kind::bytes || at % size == 0;
  const auto* reach = find_reach(*x, at);
  if (reach == nullptr) return check_allowed(*x, at, size, write, is_aligned);
  Memory& memory = *reach->memory;
  const size_t offset = at - memory.address();
  if (write ? !reach->write : !reach->read) {
    refuse(*x, memory, offset, write, "usage", "not covered by the usage given to useResource: or by the parameter");
  }
  if (offset + size > memory.length()) refuse(*x, memory, offset, write, "bounds", "past the end of the buffer");
  if (!is_aligned) refuse(*x, memory, offset, write, "alignment", "not aligned to its size");
  touch({*x->command, memory, offset, size, write, kind == Kind::atomic, x->thread});
}

}  // namespace

void set_current(Execution* execution) {
  current = execution;
}

void Execution::add_reach(Memory* memory, bool read, bool write) {
  for (auto& known : reach) {
    if (known.memory != memory) continue;
    known.read |= read;
    known.write |= write;
    return;
  }
  reach.push_back({memory, read, write});
}

}  // namespace sim_metal

// What clang's instrumentation (-fsanitize=kernel-address with this prefix) and metal_stdlib call.
extern "C" {
#define SIM_METAL_ACCESS(size)                         \
  void sim_metal_load##size##_noabort(uintptr_t at) {  \
    sim_metal::access(at, size, false);                \
  }                                                    \
  void sim_metal_store##size##_noabort(uintptr_t at) { \
    sim_metal::access(at, size, true);                 \
  }
SIM_METAL_ACCESS(1)
SIM_METAL_ACCESS(2)
SIM_METAL_ACCESS(4)
SIM_METAL_ACCESS(8)
SIM_METAL_ACCESS(16)
#undef SIM_METAL_ACCESS
void sim_metal_loadN_noabort(uintptr_t at, size_t size) {
  sim_metal::access(at, size, false, sim_metal::Kind::bytes);
}
void sim_metal_storeN_noabort(uintptr_t at, size_t size) {
  sim_metal::access(at, size, true, sim_metal::Kind::bytes);
}
void* sim_metal_memcpy(void* to, const void* from, size_t size) {
  sim_metal::access(reinterpret_cast<uintptr_t>(from), size, false, sim_metal::Kind::bytes);
  sim_metal::access(reinterpret_cast<uintptr_t>(to), size, true, sim_metal::Kind::bytes);
  return std::memcpy(to, from, size);
}
void* sim_metal_memmove(void* to, const void* from, size_t size) {
  sim_metal::access(reinterpret_cast<uintptr_t>(from), size, false, sim_metal::Kind::bytes);
  sim_metal::access(reinterpret_cast<uintptr_t>(to), size, true, sim_metal::Kind::bytes);
  return std::memmove(to, from, size);
}
void* sim_metal_memset(void* to, int value, size_t size) {
  sim_metal::access(reinterpret_cast<uintptr_t>(to), size, true, sim_metal::Kind::bytes);
  return std::memset(to, value, size);
}
void sim_metal_atomic(const volatile void* at, size_t size, int write) {
  sim_metal::access(reinterpret_cast<uintptr_t>(at), size, write != 0, sim_metal::Kind::atomic);
}
void sim_metal_barrier() {
  if (auto* x = sim_metal::current) x->fibers->stop_at_barrier();
}
}
