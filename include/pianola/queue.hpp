// SPDX-License-Identifier: Apache-2.0
// Submitting work and waiting for it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pianola/error.hpp"
#include "pianola/graph.hpp"

namespace pianola {

/// A timeline semaphore: a value that only grows. Works across queues and devices of one process.
/// A handle; every call is thread-safe. A failed submission fails the semaphores it would have signalled.
/// Signalling or waiting for an empty handle is invalid_argument.
class Semaphore {
 public:
  Semaphore() = default;
  /// Errors: out_of_memory.
  static Result<Semaphore> create(uint64_t initial = 0);

  explicit operator bool() const { return state_ != nullptr; }
  uint64_t value() const;
  /// From the host. Errors: invalid_argument (not above the value now), dependency_failed (the semaphore has failed).
  Result<> signal(uint64_t value) const;
  /// Blocks until the value is reached. Errors: dependency_failed.
  Result<> wait(uint64_t value) const;
  /// The same, for at most `timeout`. Errors: dependency_failed, timeout.
  Result<> wait_for(uint64_t value, std::chrono::nanoseconds timeout) const;

  struct State;
  explicit Semaphore(std::shared_ptr<State> state) : state_(std::move(state)) {}
  const std::shared_ptr<State>& state() const { return state_; }

 private:
  std::shared_ptr<State> state_;
};

struct SemaphoreValue {
  Semaphore semaphore;
  uint64_t value = 0;
};

struct SubmitInfo {
  std::vector<SlotBinding> bindings;       ///< override those given at instantiate
  std::vector<ConstantBinding> constants;  ///< override those given at instantiate
  std::vector<SemaphoreValue> wait;        ///< a value whose signal isn't submitted yet is legal
  std::vector<SemaphoreValue> signal;
};

/// When a command of a submission ran on the device, from the submission's begin on.
struct CommandTime {
  uint32_t command = 0;  ///< its index in the recording; one that became several pieces of work comes several times
  uint32_t lane = 0;     ///< of the plan
  std::string name;      ///< as plans print it
  std::string group;     ///< its debug groups, "outer / inner"
  std::chrono::nanoseconds begin{0};
  std::chrono::nanoseconds end{0};
};

/// One submission's completion. It always completes, and carries the first error. A handle;
/// every call is thread-safe. Device writes are visible to the host after a wait() that succeeds.
class Submission {
 public:
  Submission() = default;
  explicit operator bool() const { return state_ != nullptr; }

  bool is_done() const;
  /// Blocks until it has completed. Errors: its first one.
  Result<> wait() const;
  /// The same, for at most `timeout`. Errors: timeout, or its first one.
  Result<> wait_for(std::chrono::nanoseconds timeout) const;

  /// Of a graph that was instantiated with `timestamps`, once the submission is done; else empty.
  std::vector<CommandTime> times() const;

  struct State;
  explicit Submission(std::shared_ptr<State> state) : state_(std::move(state)) {}
  const std::shared_ptr<State>& state() const { return state_; }

 private:
  std::shared_ptr<State> state_;
};

/// Submissions on one queue behave as if a full barrier stood between them; queues are ordered only by
/// semaphores. A handle; every call is thread-safe.
class Queue {
 public:
  Queue() = default;
  explicit operator bool() const { return impl_ != nullptr; }

  /// Errors at once, with nothing submitted: unbound, out_of_range, misaligned, overlap, mismatch, limit_exceeded (a
  /// named group count), invalid_argument (an empty handle, no such slot or constant, a graph or memory of another
  /// device, a signal not above the semaphore's value), out_of_memory.
  Result<Submission> submit(const Graph& graph, const SubmitInfo& info = {}) const;
  /// Instantiates for one replay and submits. Errors: those of submit and those of instantiate.
  Result<Submission> run(const CommandBuffer& commands, const SubmitInfo& info = {}) const;
  /// Blocks until everything submitted so far has completed. Errors: the first of those submissions' that failed.
  Result<> wait_idle() const;

  struct Impl;
  explicit Queue(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  const std::shared_ptr<Impl>& impl() const { return impl_; }

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace pianola
