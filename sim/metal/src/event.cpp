// SPDX-License-Identifier: Apache-2.0
#include "event.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace sim_metal {

void Clock::join(const Clock& other) {
  for (const auto& [queue, serial] : other.last_) reach(queue, serial);
}
void Clock::reach(uint32_t queue, uint64_t serial) {
  auto& last = last_[queue];
  last = std::max(last, serial);
}
bool Clock::covers(uint32_t queue, uint64_t serial) const {
  const auto found = last_.find(queue);
  return found != last_.end() && serial <= found->second;
}

namespace {
constexpr size_t signals_kept = 64;  ///< who waits for an older value is taken to know more than it does

struct Host {
  std::mutex mutex;
  Clock known;
};
Host& host() {
  static auto* const it = new Host;
  return *it;
}
}  // namespace

Clock host_clock() {
  const std::lock_guard lock(host().mutex);
  return host().known;
}
void host_learns(const Clock& known) {
  const std::lock_guard lock(host().mutex);
  host().known.join(known);
}

/// Of the first signal that reached the value. Precondition: there was one.
const Clock& Event::known_at(uint64_t value) const {
  return std::ranges::lower_bound(signals_, value, {}, [](const auto& signal) { return signal.first; })->second;
}

void Event::signal(uint64_t value, const Clock& known) {
  std::vector<Callback> due;
  uint64_t now = 0;
  {
    const std::lock_guard lock(mutex_);
    if (value > value_) signals_.emplace_back(value, known);
    if (signals_.size() > signals_kept) signals_.pop_front();
    value_ = std::max(value_, value);
    now = value_;
    while (!waiters_.empty() && waiters_.begin()->first <= value_) {
      due.push_back(std::move(waiters_.begin()->second));
      waiters_.erase(waiters_.begin());
    }
  }
  wake_.notify_all();
  for (auto& callback : due) callback(now);
}

bool Event::wait(uint64_t value, std::chrono::milliseconds timeout, Clock& known) {
  std::unique_lock lock(mutex_);
  if (!wake_.wait_for(lock, timeout, [&] { return value_ >= value; })) return false;
  if (value != 0) known.join(known_at(value));
  return true;
}

uint64_t Event::value() {
  const std::lock_guard lock(mutex_);
  if (value_ != 0) host_learns(known_at(value_));
  return value_;
}

void Event::when_reached(uint64_t value, Callback callback) {
  uint64_t now = 0;
  {
    const std::lock_guard lock(mutex_);
    if (value_ < value) {
      waiters_.emplace(value, std::move(callback));
      return;
    }
    now = value_;
  }
  callback(now);
}

}  // namespace sim_metal
