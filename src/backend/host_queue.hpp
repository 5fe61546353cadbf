// SPDX-License-Identifier: Apache-2.0
// Keeps one queue's jobs in submission order and holds them until their waits are met.
//
// A job runs on the thread that submits it when nothing stands before it, its waits are met and the backend calls
// it small; otherwise on the queue's own thread, which starts with the first job that needs it and blocks there on
// waits whose signal may not even be submitted yet. A backend whose device can wait for its own work gets jobs as soon
// as what they wait for is promised (backend/completion.hpp).
//
// Every job taken completes exactly once, also those that are left when the queue is destroyed: the thread runs them,
// and then ends by itself. What `run` needs must live as long; jobs of a device's own queues keep the device alive.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "backend/backend.hpp"

namespace pianola::backend {

/// Ends a job: releases what it kept alive, then signals its semaphores (or fails them), then completes it.
/// The device may be gone when this returns.
void finish(Job& job, std::optional<Error> error) noexcept;
/// Whether this thread is inside of finish(): what it releases may be the last handle of a queue, whose other jobs may
/// wait for this one.
bool is_finishing_here() noexcept;

class HostQueue {
 public:
  /// Runs a job whose waits are met and gives its first error; of one that has failed already, gives that error. Called
  /// for one job at a time, in order. It may instead move the job away and finish() it later, on any thread: work that
  /// is in flight comes before a job that failed, and so do the promises that this one waits for.
  using Run = std::function<std::optional<Error>(Job& job, std::optional<Error> failed)>;
  /// Whether a job is worth running at once on the submitting thread.
  using IsSmall = std::function<bool(const Job& job)>;

  /// Promises of `device` count as met waits; none do by default.
  HostQueue(Run run, IsSmall is_small, const void* device = nullptr);
  /// Waits for a job that is being run if none is left behind it, but not where a job ends; never for one that waits.
  ~HostQueue();
  HostQueue(const HostQueue&) = delete;
  HostQueue& operator=(const HostQueue&) = delete;

  /// Takes the job whatever happens.
  void submit(Job&& job) noexcept;
  /// Whether nothing stands before the caller, who then does its work in place of a job and calls leave().
  bool enter() noexcept;
  void leave() noexcept;

 private:
  struct State;
  static void work(const std::shared_ptr<State>& state);
  std::shared_ptr<State> state_;
};

}  // namespace pianola::backend
