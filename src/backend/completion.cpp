// SPDX-License-Identifier: Apache-2.0
// Submissions and timeline semaphores as host objects.
#include "backend/completion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace pianola {
namespace {

/// Very long times count as for ever.
Progress::Deadline deadline_of(std::optional<std::chrono::nanoseconds> timeout) {
  constexpr auto for_ever = std::chrono::hours(24 * 365);
  if (!timeout || *timeout > for_ever) return std::nullopt;
  return std::chrono::steady_clock::now() + *timeout;
}

/// Waits until `is_met`; false if the time ended first.
template <class Predicate>
bool wait_until(std::condition_variable& wake, std::unique_lock<std::mutex>& lock, Progress::Deadline deadline,
                Predicate is_met) {
  if (deadline) return wake.wait_until(lock, *deadline, is_met);
  wake.wait(lock, is_met);
  return true;
}

Error timed_out(std::chrono::nanoseconds timeout) {
  return Error{.code = Errc::timeout, .message = fmt::format("not done after {} ns", timeout.count())};
}

}  // namespace

void Submission::State::follow(std::shared_ptr<Progress> work) noexcept {
  const std::lock_guard lock(mutex);
  progress = std::move(work);
  wake.notify_all();
}

void Submission::State::complete(std::optional<Error> first_error) noexcept {
  std::shared_ptr<Progress> ended;  // let go of outside the lock: it may be the last that holds it
  {
    const std::lock_guard lock(mutex);
    error = std::move(first_error);
    ended = std::move(progress);
    done.store(true, std::memory_order_release);
    wake.notify_all();  // under the lock: a waiter may drop the last handle as soon as it sees `done`
  }
}

Result<> Submission::State::wait(std::optional<std::chrono::nanoseconds> timeout) {
  const Progress::Deadline deadline = deadline_of(timeout);
  while (!done.load(std::memory_order_acquire)) {
    std::unique_lock lock(mutex);
    const auto is_met = [this] { return done.load(std::memory_order_acquire) || progress != nullptr; };
    if (!wait_until(wake, lock, deadline, is_met)) return timed_out(*timeout);
    const std::shared_ptr<Progress> work = progress;
    lock.unlock();
    if (work == nullptr) break;
    work->advance(done, deadline);
    if (deadline && !done.load(std::memory_order_acquire)) return timed_out(*timeout);
  }
  if (error) return *error;
  return {};
}

bool Submission::State::poll() noexcept {
  if (done.load(std::memory_order_acquire)) return true;
  std::unique_lock lock(mutex);
  const std::shared_ptr<Progress> work = progress;
  lock.unlock();
  if (work != nullptr) work->advance(done, std::chrono::steady_clock::now());
  return done.load(std::memory_order_acquire);
}

uint64_t Semaphore::State::current() {
  const std::lock_guard lock(mutex);
  return value;
}

Result<> Semaphore::State::signal(uint64_t new_value) {
  std::multimap<uint64_t, Waiter> reached;
  Promises kept;  // let go of outside the lock: a promise may be the last that holds a queue's work
  {
    const std::lock_guard lock(mutex);
    if (error) return *error;
    if (new_value <= value) {
      return Error{.code = Errc::invalid_argument,
                   .message = fmt::format("semaphore is at {}; a signal of {} is not above it", value, new_value)};
    }
    value = new_value;
    while (!waiters.empty() && waiters.begin()->first <= value) reached.insert(waiters.extract(waiters.begin()));
    while (!promises.empty() && promises.begin()->first <= value) kept.insert(promises.extract(promises.begin()));
    wake.notify_all();
  }
  for (const auto& [wanted, waiter] : reached) waiter.callback(std::nullopt);
  return {};
}

void Semaphore::State::fail(const Error& cause) noexcept {
  std::optional<Error> failure;
  try {
    failure = Error{.code = Errc::dependency_failed,
                    .message = cause.code == Errc::dependency_failed
                                   ? cause.message
                                   : fmt::format("what it waited for failed: {}", pianola::to_string(cause)),
                    .native_call = cause.native_call,
                    .native_code = cause.native_code};
  } catch (...) {
    failure = Error{.code = Errc::dependency_failed, .message = "dependency"};
  }
  std::multimap<uint64_t, Waiter> all;
  Promises broken;
  {
    const std::lock_guard lock(mutex);
    if (error) return;
    error = std::move(failure);
    all.swap(waiters);
    broken.swap(promises);
    wake.notify_all();
  }
  for (const auto& [wanted, waiter] : all) waiter.callback(error);  // which stays as it is from now on
}

std::shared_ptr<const DeviceSignal> Semaphore::State::find_promise(uint64_t wanted, const void* device) const {
  if (device == nullptr) return nullptr;
  const auto found = std::find_if(promises.lower_bound(wanted), promises.end(),
                                  [device](const auto& each) { return each.second->device() == device; });
  return found == promises.end() ? nullptr : found->second;
}

void Semaphore::State::when_ready(uint64_t wanted, const void* device, Callback callback) {
  static const std::optional<Error> none;
  bool has_failed = false;
  {
    const std::lock_guard lock(mutex);
    has_failed = value < wanted && error;
    if (value < wanted && !error && find_promise(wanted, device) == nullptr) {
      waiters.emplace(wanted, Waiter{std::move(callback), device});
      return;
    }
  }
  callback(has_failed ? error : none);
}

bool Semaphore::State::is_ready(uint64_t wanted, const void* device) noexcept {
  const std::lock_guard lock(mutex);
  return value >= wanted || error.has_value() || find_promise(wanted, device) != nullptr;
}

void Semaphore::State::promise(uint64_t promised, std::shared_ptr<const DeviceSignal> signal) noexcept {
  std::multimap<uint64_t, Waiter> ready;
  {
    const std::lock_guard lock(mutex);
    if (promised <= value || error) return;
    const void* device = signal->device();
    try {
      promises.emplace(promised, std::move(signal));
    } catch (const std::bad_alloc&) {
      return;
    }
    for (auto at = waiters.begin(); at != waiters.end() && at->first <= promised;) {
      const auto here = at++;
      if (here->second.device == device) ready.insert(waiters.extract(here));
    }
  }
  for (const auto& [wanted, waiter] : ready) waiter.callback(std::nullopt);
}

Result<std::shared_ptr<const DeviceSignal>> Semaphore::State::promised(uint64_t wanted, const void* device) {
  const std::lock_guard lock(mutex);
  if (value >= wanted) return std::shared_ptr<const DeviceSignal>();
  if (error) return *error;
  return find_promise(wanted, device);
}

Result<> Semaphore::State::wait(uint64_t wanted, std::optional<std::chrono::nanoseconds> timeout) {
  std::unique_lock lock(mutex);
  if (!wait_until(wake, lock, deadline_of(timeout), [&] { return value >= wanted || error.has_value(); })) {
    return timed_out(*timeout);
  }
  if (value >= wanted) return {};
  return *error;
}

}  // namespace pianola
