// SPDX-License-Identifier: Apache-2.0
// Host-side completion: what a submission and a timeline semaphore are, whatever the backend.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>

#include "pianola/queue.hpp"

namespace pianola {

/// Work in flight whose completion the threads that wait for it can bring about themselves, which is sooner than
/// being woken by the thread that would do it otherwise.
class Progress {
 public:
  using Deadline = std::optional<std::chrono::steady_clock::time_point>;
  virtual ~Progress() = default;
  /// Completes what has ended, in order, until `is_met` or the deadline has passed.
  virtual void advance(const std::atomic<bool>& is_met, Deadline deadline) noexcept = 0;
};

/// Completed exactly once, by the backend that took the job.
struct Submission::State {
  std::atomic<bool> done{false};
  std::mutex mutex;
  std::condition_variable wake;
  std::optional<Error> error;          ///< set before done, constant after
  std::vector<CommandTime> times;      ///< the same
  std::shared_ptr<Progress> progress;  ///< of work in flight, if its backend has one; gone when done

  /// From now on those who wait help; call before anyone can complete it.
  void follow(std::shared_ptr<Progress> work) noexcept;
  void complete(std::optional<Error> first_error) noexcept;
  Result<> wait(std::optional<std::chrono::nanoseconds> timeout);
  /// True if it is done, after a look at the work.
  bool poll() noexcept;
};

/// A value that only grows, or a failure, with callbacks for those who wait. A value that was reached before
/// the failure stays reached.
/// Callbacks run on the thread that signals, outside the lock, and must neither block nor throw.
struct Semaphore::State {
  using Callback = std::function<void(const std::optional<Error>&)>;

  explicit State(uint64_t initial) : value(initial) {}
  uint64_t current();
  /// Errors: invalid_argument (not above the value now), dependency_failed (failed before).
  Result<> signal(uint64_t new_value);
  /// Those who wait get `dependency_failed`, with this error's text. The first failure stays.
  void fail(const Error& cause) noexcept;
  /// Calls back when the value is reached or the semaphore fails; at once if it has already.
  void when_reached(uint64_t wanted, Callback callback);
  /// Reached, or never to be.
  bool is_settled(uint64_t wanted) noexcept;
  Result<> wait(uint64_t wanted, std::optional<std::chrono::nanoseconds> timeout);

  std::mutex mutex;
  std::condition_variable wake;
  uint64_t value;
  std::optional<Error> error;  ///< constant once it is there
  std::multimap<uint64_t, Callback> waiters;
};

}  // namespace pianola
