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

/// Where work of one device will signal, so that other work of that device can wait for it without the host.
/// Backends derive what they wait for.
class DeviceSignal {
 public:
  explicit DeviceSignal(const void* device) : device_(device) {}
  virtual ~DeviceSignal() = default;
  DeviceSignal(const DeviceSignal&) = delete;
  DeviceSignal& operator=(const DeviceSignal&) = delete;
  /// Tells devices apart, and is never null.
  const void* device() const { return device_; }

 private:
  const void* device_;
};

/// A value that only grows, or a failure, with callbacks for those who wait. A value that was reached before
/// the failure stays reached.
///
/// A promised value belongs to work that its device has been given for good: it will be signalled or the semaphore will
/// fail. Work of the same device may start with a wait for the promise; it has succeeded only once the value is
/// reached. Callbacks run on the thread that signals, outside the lock, and must neither block nor throw.
struct Semaphore::State {
  using Callback = std::function<void(const std::optional<Error>&)>;

  explicit State(uint64_t initial) : value(initial) {}
  uint64_t current();
  /// Errors: invalid_argument (not above the value now), dependency_failed (failed before).
  Result<> signal(uint64_t new_value);
  /// Those who wait get `dependency_failed`, with this error's text. The first failure stays.
  void fail(const Error& cause) noexcept;
  /// Calls back when the value is reached or the semaphore fails; at once if it has already.
  void when_reached(uint64_t wanted, Callback callback) { when_ready(wanted, nullptr, std::move(callback)); }
  /// The same, or when work of this device promises the value.
  void when_ready(uint64_t wanted, const void* device, Callback callback);
  /// Reached, never to be, or promised by work of this device.
  bool is_ready(uint64_t wanted, const void* device) noexcept;
  /// Without memory for it nothing is promised.
  void promise(uint64_t promised, std::shared_ptr<const DeviceSignal> signal) noexcept;
  /// What work of this device is to wait for; null if the value is reached or nothing is promised.
  /// Errors: dependency_failed.
  Result<std::shared_ptr<const DeviceSignal>> promised(uint64_t wanted, const void* device);
  Result<> wait(uint64_t wanted, std::optional<std::chrono::nanoseconds> timeout);

  std::mutex mutex;
  std::condition_variable wake;
  uint64_t value;
  std::optional<Error> error;  ///< constant once it is there
  struct Waiter {
    Callback callback;
    const void* device = nullptr;  ///< whose promise will do, or none's
  };
  std::multimap<uint64_t, Waiter> waiters;
  using Promises = std::multimap<uint64_t, std::shared_ptr<const DeviceSignal>>;
  Promises promises;  ///< above the value

 private:
  /// Under the lock.
  std::shared_ptr<const DeviceSignal> find_promise(uint64_t wanted, const void* device) const;
};

}  // namespace pianola
