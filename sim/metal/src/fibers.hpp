// SPDX-License-Identifier: Apache-2.0
// The threads of one threadgroup as fibers, so that each can stop at a threadgroup barrier.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace sim_metal {

class Fibers {
 public:
  explicit Fibers(size_t most);
  /// Runs body(i) for each i of `threads` up to its first barrier, then on to the next, until all are over.
  /// Calls `before` with a thread and its number of barriers whenever it starts or goes on. False if only some
  /// of the threads reached a barrier, or if one was abandoned.
  bool run(std::vector<uint32_t>& threads, const std::function<void(uint32_t)>& body,
           const std::function<void(uint32_t, uint32_t)>& before);

  // From within a fiber:
  void stop_at_barrier();
  [[noreturn]] void abandon();

  const void* stacks() const { return stacks_.get(); }
  size_t stack_bytes() const;

 private:
  enum class State : uint8_t { ready, stopped, over };
  static void enter(unsigned low, unsigned high);
  void prepare(uint32_t thread);

  std::unique_ptr<char[]> stacks_;  ///< not cleared: most of it is never touched
  std::vector<ucontext_t> contexts_;
  std::vector<State> states_;
  const std::function<void(uint32_t)>* body_ = nullptr;
  ucontext_t scheduler_{};
  uint32_t current_ = 0;
  bool abandoned_ = false;
};

}  // namespace sim_metal
