// SPDX-License-Identifier: Apache-2.0
// Events of the software device, and what is known to be over when one is reached.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

namespace sim_metal {

/// For each queue, the serial of the last encoder known to be over.
class Clock {
 public:
  void join(const Clock& other);
  void reach(uint32_t queue, uint64_t serial);
  bool covers(uint32_t queue, uint64_t serial) const;

 private:
  std::map<uint32_t, uint64_t> last_;
};

/// What the host knows to be over, because it has asked or been told: nothing is known of work that merely is over.
Clock host_clock();
void host_learns(const Clock& known);

class Event {
 public:
  using Callback = std::function<void(uint64_t)>;

  /// A lower value changes nothing.
  void signal(uint64_t value, const Clock& known);
  /// False if the value does not come in time. `known` learns what the signal that brought the value has seen.
  bool wait(uint64_t value, std::chrono::milliseconds timeout, Clock& known);
  /// For the host, which learns what the signal of this value has seen.
  uint64_t value();
  /// At once if the value has been reached already.
  void when_reached(uint64_t value, Callback callback);

 private:
  const Clock& known_at(uint64_t value) const;

  std::mutex mutex_;
  std::condition_variable wake_;
  uint64_t value_ = 0;
  std::deque<std::pair<uint64_t, Clock>> signals_;  ///< those that raised the value, in order
  std::multimap<uint64_t, Callback> waiters_;
};

}  // namespace sim_metal
