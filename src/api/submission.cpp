// SPDX-License-Identifier: Apache-2.0
// Submission and semaphore handles. An empty handle counts as done, and cannot be signalled or waited for.
#include <fmt/format.h>

#include "backend/completion.hpp"
#include "base/guarded.hpp"
#include "pianola/queue.hpp"

namespace pianola {
namespace {

Error empty(std::string_view what) {
  return Error{.code = Errc::invalid_argument, .message = fmt::format("the {} is empty", what)};
}

}  // namespace

bool Submission::is_done() const {
  return !state_ || state_->poll();
}

std::vector<CommandTime> Submission::times() const {
  if (!is_done() || !state_) return {};
  return state_->times;
}

Result<> Submission::wait() const {
  return guarded([&]() -> Result<> {
    if (!state_) return empty("submission");
    return state_->wait(std::nullopt);
  });
}

Result<> Submission::wait_for(std::chrono::nanoseconds timeout) const {
  return guarded([&]() -> Result<> {
    if (!state_) return empty("submission");
    return state_->wait(timeout);
  });
}

Result<Semaphore> Semaphore::create(uint64_t initial) {
  return guarded([&]() -> Result<Semaphore> { return Semaphore(std::make_shared<State>(initial)); });
}

uint64_t Semaphore::value() const {
  return state_ ? state_->current() : 0;
}

Result<> Semaphore::signal(uint64_t value) const {
  return guarded([&]() -> Result<> {
    if (!state_) return empty("semaphore");
    return state_->signal(value);
  });
}

Result<> Semaphore::wait(uint64_t value) const {
  return guarded([&]() -> Result<> {
    if (!state_) return empty("semaphore");
    return state_->wait(value, std::nullopt);
  });
}

Result<> Semaphore::wait_for(uint64_t value, std::chrono::nanoseconds timeout) const {
  return guarded([&]() -> Result<> {
    if (!state_) return empty("semaphore");
    return state_->wait(value, timeout);
  });
}

}  // namespace pianola
