// SPDX-License-Identifier: Apache-2.0
#include "kernel_run.hpp"

#include <link.h>
#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <random>

#include "access.hpp"
#include "control.hpp"
#include "hazards.hpp"

namespace sim_metal {
namespace {

using Range = std::pair<uintptr_t, uintptr_t>;

/// Where the shared object that holds this address is mapped: kernels read their constants there.
Range image_of(const void* inside) {
  struct Query {
    uintptr_t at, begin, end;
  } query{reinterpret_cast<uintptr_t>(inside), 0, 0};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto& q = *static_cast<Query*>(data);
        uintptr_t begin = UINTPTR_MAX;
        uintptr_t end = 0;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& header = info->dlpi_phdr[i];
          if (header.p_type != PT_LOAD) continue;
          begin = std::min<uintptr_t>(begin, info->dlpi_addr + header.p_vaddr);
          end = std::max<uintptr_t>(end, info->dlpi_addr + header.p_vaddr + header.p_memsz);
        }
        if (q.at < begin || q.at >= end) return 0;
        q.begin = begin;
        q.end = end;
        return 1;
      },
      &query);
  return {query.begin, query.end};
}

Range own_stack() {
  pthread_attr_t attributes;
  void* base = nullptr;
  size_t size = 0;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &base, &size);
  pthread_attr_destroy(&attributes);
  return {reinterpret_cast<uintptr_t>(base), reinterpret_cast<uintptr_t>(base) + size};
}

class DispatchRun {
 public:
  DispatchRun(Command& command, CommandBuffer& buffer)
      : command_(command),
        buffer_(buffer),
        state_(*command.state),
        random_(settings().seed * 7919 + static_cast<uint32_t>(command.index)) {
    x_.command = &command;
  }
  void run() {
    if (!resolve_counts() || !resolve_bindings() || !resolve_residents() || !check_parameters()) return;
    const auto& g = command_.groups;
    if (g[0] == 0 || g[1] == 0 || g[2] == 0) return;
    run_groups();
    if (x_.faulted) buffer_.fail(3, "kernel fault in " + describe(command_));
  }

 private:
  Memory* keep(const Use& use);
  bool resolve_counts();
  bool resolve_bindings();
  bool resolve_residents();
  bool check_parameters();
  bool check_buffer(const msl::Parameter& parameter);
  bool check_threadgroup_memory();
  const msl::Parameter* find_parameter(msl::Parameter::Kind kind, size_t index) const;
  void run_groups();
  void run_group(uint32_t linear);
  void run_plain(uint32_t linear);
  void run_fibers(uint32_t linear);
  void place(uint32_t linear);
  uint32_t group_size() const { return command_.threads[0] * command_.threads[1] * command_.threads[2]; }

  Command& command_;
  CommandBuffer& buffer_;
  const DispatchState& state_;
  std::mt19937 random_;
  Execution x_;
  std::vector<std::shared_ptr<Memory>> kept_;
  void* buffers_[max_buffer_bindings] = {};
  void* threadgroup_[max_buffer_bindings] = {};
  std::vector<std::vector<uint8_t>> bytes_;
  std::vector<msl::Context> contexts_;
  std::vector<uint32_t> lanes_;  ///< threads of the group at hand that lie inside the grid
  std::optional<Fibers> fibers_;
};

/// Null if it is freed at this moment, which is found when the command buffer is over.
Memory* DispatchRun::keep(const Use& use) {
  kept_.push_back(use.get());
  return kept_.back().get();
}

bool DispatchRun::resolve_counts() {
  if (!command_.is_indirect) return true;
  Memory* counts = keep(command_.a);
  if (counts == nullptr) return false;
  touch({command_, *counts, command_.a_offset, 12, false, false, 0});
  if (is_written_in_encoder(command_, *counts, command_.a_offset, 12)) {
    report("indirect", "the counts of %s are written in its own encoder, at whose start they may be read",
           describe(command_).c_str());
  }
  std::memcpy(command_.groups.data(), counts->base() + command_.a_offset, 12);
  return true;
}

/// The parameter whose argument lies at this index, or null: what is bound there for other kernels is out of reach.
const msl::Parameter* DispatchRun::find_parameter(msl::Parameter::Kind kind, size_t index) const {
  for (int i = 0; i < command_.kernel->parameter_count; ++i) {
    const auto& p = command_.kernel->parameters[i];
    if (p.kind == kind && p.index == static_cast<int>(index)) return &p;
  }
  return nullptr;
}

bool DispatchRun::resolve_bindings() {
  bytes_.reserve(2 * max_buffer_bindings);
  for (size_t i = 0; i < max_buffer_bindings; ++i) {
    const Binding& binding = state_.bindings[i];
    const auto* parameter = find_parameter(msl::Parameter::buffer, i);
    if (parameter != nullptr && binding.kind == Binding::Kind::buffer) {
      Memory* memory = keep(binding.use);
      if (memory == nullptr) return false;
      buffers_[i] = memory->base() + binding.offset;
      x_.add_reach(memory, true, parameter->is_const == msl::Parameter::no);
    } else if (parameter != nullptr && binding.kind == Binding::Kind::bytes) {
      bytes_.push_back(binding.bytes);
      buffers_[i] = bytes_.back().data();
      x_.allow(bytes_.back().data(), bytes_.back().size());
    }
    if (state_.threadgroup_bytes[i] == 0) continue;
    bytes_.emplace_back(state_.threadgroup_bytes[i]);
    threadgroup_[i] = bytes_.back().data();
    x_.allow(bytes_.back().data(), bytes_.back().size());
  }
  return true;
}

bool DispatchRun::resolve_residents() {
  for (const Use& use : state_.resident) {
    Memory* memory = keep(use);
    if (memory == nullptr) return false;
    x_.add_reach(memory, use.read, use.write);
  }
  return true;
}

bool DispatchRun::check_parameters() {
  for (int i = 0; i < command_.kernel->parameter_count; ++i) {
    const auto& p = command_.kernel->parameters[i];
    if (p.kind == msl::Parameter::buffer && !check_buffer(p)) return false;
  }
  return check_threadgroup_memory();
}

bool DispatchRun::check_threadgroup_memory() {
  size_t total = msl::static_threadgroup_bytes(*command_.kernel);
  for (int i = 0; i < command_.kernel->parameter_count; ++i) {
    const auto& p = command_.kernel->parameters[i];
    if (p.kind != msl::Parameter::threadgroup) continue;
    const size_t have = state_.threadgroup_bytes[static_cast<size_t>(p.index)];
    if (have == 0) {
      report("binding", "%s: no setThreadgroupMemoryLength: for index %d (parameter '%s')", describe(command_).c_str(),
             p.index, p.name);
      return false;
    }
    total += have;
  }
  const size_t most = settings().max_threadgroup_memory;
  if (total > most) {
    report("compute", "%s needs %zu bytes of threadgroup memory, the device has %zu", describe(command_).c_str(), total,
           most);
  }
  return total <= most;
}

bool DispatchRun::check_buffer(const msl::Parameter& p) {
  const std::string who = describe(command_);
  const Binding& binding = state_.bindings[static_cast<size_t>(p.index)];
  if (binding.kind == Binding::Kind::unset) {
    report("binding", "%s: nothing is bound at index %d (parameter '%s')", who.c_str(), p.index, p.name);
    return false;
  }
  const bool in_buffer = binding.kind == Binding::Kind::buffer;
  const size_t have = in_buffer ? binding.use.get()->length() - binding.offset : binding.bytes.size();
  // Of a pointer's target too: Metal's validation wants room for one.
  if (have < static_cast<size_t>(p.size)) {
    report("binding", "%s: parameter '%s' needs %d bytes at index %d, %zu are bound", who.c_str(), p.name, p.size,
           p.index, have);
    return false;
  }
  auto align = static_cast<size_t>(p.align);
  if (p.is_const == msl::Parameter::in_constant_space) {
    align = std::max<size_t>(align, settings().alignment == AlignmentRule::mac ? 32 : 4);
  }
  if (in_buffer && binding.offset % align != 0) {
    report("alignment", "%s: offset %zu bound at index %d is not a multiple of %zu, as parameter '%s' needs",
           who.c_str(), binding.offset, p.index, align, p.name);
    return false;
  }
  return true;
}

void DispatchRun::run_groups() {
  const auto& g = command_.groups;
  std::vector<uint32_t> order(size_t{g[0]} * g[1] * g[2]);
  std::iota(order.begin(), order.end(), 0U);
  std::shuffle(order.begin(), order.end(), random_);
  contexts_.resize(group_size());
  x_.allow(contexts_.data(), contexts_.size() * sizeof(msl::Context));
  x_.allow(this, sizeof *this);  // the tables of buffers; sanitizers may place it elsewhere than on the stack
  x_.allowed.push_back(own_stack());
  x_.allowed.push_back(image_of(command_.kernel));
  if (command_.kernel->uses_barrier != 0) {
    fibers_.emplace(group_size());
    x_.allow(fibers_->stacks(), fibers_->stack_bytes());
    x_.fibers = &*fibers_;
  }
  set_current(&x_);
  for (uint32_t linear : order) {
    place(linear);
    run_group(linear);
    if (x_.faulted) break;
  }
  set_current(nullptr);
}

/// Fills in the contexts of one group's threads and lists those inside the grid.
void DispatchRun::place(uint32_t linear) {
  const auto& g = command_.groups;
  const auto& t = command_.threads;
  const uint32_t group[3] = {linear % g[0], linear / g[0] % g[1], linear / g[0] / g[1]};
  lanes_.clear();
  for (uint32_t i = 0; i < group_size(); ++i) {
    const uint32_t local[3] = {i % t[0], i / t[0] % t[1], i / t[0] / t[1]};
    msl::Context& c = contexts_[i];
    c.buffers = buffers_;
    c.threadgroup = threadgroup_;
    c.local_index = i;
    bool inside = true;
    for (size_t d = 0; d < 3; ++d) {
      c.group_position[d] = group[d];
      c.local_position[d] = local[d];
      c.grid_position[d] = group[d] * t[d] + local[d];
      c.groups[d] = g[d];
      c.group_size[d] = t[d];
      c.grid_size[d] = command_.total[d] != 0 ? command_.total[d] : g[d] * t[d];
      inside = inside && c.grid_position[d] < c.grid_size[d];
    }
    if (inside) lanes_.push_back(i);
  }
  std::shuffle(lanes_.begin(), lanes_.end(), random_);
}

void DispatchRun::run_group(uint32_t linear) {
  if (fibers_) {
    run_fibers(linear);
  } else {
    run_plain(linear);
  }
}

void DispatchRun::run_plain(uint32_t linear) {
  for (uint32_t lane : lanes_) {
    x_.thread = thread_key(linear, 0, lane);
    if (setjmp(x_.fault) == 0) command_.kernel->run(&contexts_[lane]);
    if (x_.faulted) return;
  }
}

void DispatchRun::run_fibers(uint32_t linear) {
  const bool together = fibers_->run(
      lanes_, [this](uint32_t lane) { command_.kernel->run(&contexts_[lane]); },
      [this, linear](uint32_t lane, uint32_t barriers) { x_.thread = thread_key(linear, barriers, lane); });
  if (!together && !x_.faulted) {
    report("barrier", "%s: only some threads of a threadgroup reach a threadgroup_barrier", describe(command_).c_str());
  }
}

}  // namespace

void run_dispatch(Command& command, CommandBuffer& buffer) {
  DispatchRun(command, buffer).run();
}

}  // namespace sim_metal
