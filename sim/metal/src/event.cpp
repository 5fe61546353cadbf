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

void Event::signal(uint64_t value, const Clock& known) {
  std::vector<Callback> due;
  uint64_t now = 0;
  {
    const std::lock_guard lock(mutex_);
    value_ = std::max(value_, value);
    now = value_;
    known_.join(known);
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
  known.join(known_);
  return true;
}

uint64_t Event::value() {
  const std::lock_guard lock(mutex_);
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
