// SPDX-License-Identifier: Apache-2.0
#include "fibers.hpp"

#include <algorithm>

namespace sim_metal {
namespace {
constexpr size_t stack_size = 32 * 1024;
}

Fibers::Fibers(size_t most)
    : stacks_(std::make_unique_for_overwrite<char[]>(stack_size * most)), contexts_(most), states_(most) {}

size_t Fibers::stack_bytes() const {
  return stack_size * contexts_.size();
}

void Fibers::enter(unsigned low, unsigned high) {
  auto* self = reinterpret_cast<Fibers*>(static_cast<uintptr_t>(high) << 32 | low);
  (*self->body_)(self->current_);
  self->states_[self->current_] = State::over;
}

void Fibers::prepare(uint32_t thread) {
  ucontext_t& context = contexts_[thread];
  getcontext(&context);
  context.uc_stack.ss_sp = &stacks_[stack_size * thread];
  context.uc_stack.ss_size = stack_size;
  context.uc_link = &scheduler_;
  const auto self = reinterpret_cast<uintptr_t>(this);
  makecontext(&context, reinterpret_cast<void (*)()>(&Fibers::enter), 2, static_cast<unsigned>(self),
              static_cast<unsigned>(self >> 32));
  states_[thread] = State::ready;
}

bool Fibers::run(std::vector<uint32_t>& threads, const std::function<void(uint32_t)>& body,
                 const std::function<void(uint32_t, uint32_t)>& before) {
  body_ = &body;
  abandoned_ = false;
  for (uint32_t thread : threads) prepare(thread);
  bool together = true;
  for (uint32_t barriers = 0;; ++barriers) {
    size_t stopped = 0;
    size_t over = 0;
    for (uint32_t thread : threads) {
      if (states_[thread] == State::over) {
        ++over;
        continue;
      }
      current_ = thread;
      before(thread, barriers);
      swapcontext(&scheduler_, &contexts_[thread]);
      if (abandoned_) return false;
      ++(states_[thread] == State::stopped ? stopped : over);
    }
    if (stopped != 0 && over != 0) together = false;
    if (stopped == 0) return together;
    std::reverse(threads.begin(), threads.end());  // no order that a kernel could rely on
  }
}

void Fibers::stop_at_barrier() {
  states_[current_] = State::stopped;
  swapcontext(&contexts_[current_], &scheduler_);
}

void Fibers::abandon() {
  abandoned_ = true;
  setcontext(&scheduler_);
  __builtin_unreachable();
}

}  // namespace sim_metal
