// SPDX-License-Identifier: Apache-2.0
// Queue handles: submitting, and waiting for all that was submitted.
#include "pianola/queue.hpp"

#include <fmt/format.h>

#include "api/bindings.hpp"
#include "api/impl.hpp"
#include "base/guarded.hpp"

namespace pianola {
namespace {

Error invalid(std::string message) {
  return Error{.code = Errc::invalid_argument, .message = std::move(message)};
}

Result<> check_semaphores(const SubmitInfo& info) {
  for (const SemaphoreValue& wait : info.wait) {
    if (!wait.semaphore) return invalid("a semaphore to wait for is empty");
  }
  for (const SemaphoreValue& signal : info.signal) {
    if (!signal.semaphore) return invalid("a semaphore to signal is empty");
    const uint64_t now = signal.semaphore.value();
    if (signal.value <= now) {
      return invalid(fmt::format("a signal of {} is not above the semaphore's value of {}", signal.value, now));
    }
  }
  return {};
}

/// What every submission is that was done before submit() returned. Not owned, so that threads do not share a count.
std::shared_ptr<Submission::State> done_at_once() {
  static Submission::State& state = *[] {
    auto* made = new Submission::State;
    made->done.store(true, std::memory_order_release);
    return made;
  }();
  return {std::shared_ptr<void>(), &state};
}

}  // namespace

void Queue::Impl::track(const std::shared_ptr<Submission::State>& state) noexcept {
  const bool is_done = state->done.load(std::memory_order_acquire);
  if (is_done && !state->error) return;
  try {
    const std::lock_guard lock(mutex);
    while (!pending.empty() && pending.front()->done.load(std::memory_order_acquire)) {
      if (!first_error) first_error = pending.front()->error;
      pending.pop_front();
    }
    pending.push_back(state);
  } catch (...) {
    // Without room to remember it, it is waited for here; its own handle carries its error.
    static_cast<void>(guarded([&] { return state->wait(std::nullopt); }).has_value());
  }
}

void Queue::Impl::forget(const std::deque<std::shared_ptr<Submission::State>>& reported) noexcept {
  const std::lock_guard lock(mutex);
  for (const auto& state : reported) {
    if (!pending.empty() && pending.front() == state) pending.pop_front();
  }
}

Result<Submission> Queue::submit(const Graph& graph, const SubmitInfo& info) const {
  return guarded([&]() -> Result<Submission> {
    if (!impl_) return invalid("the queue is empty");
    if (!graph) return invalid("the graph is empty");
    const std::shared_ptr<Graph::Impl>& source = graph.impl();
    if (source->device.get() != impl_->device) {
      return invalid(fmt::format("the graph belongs to another device ({})", source->device->spec));
    }
    auto bindings = resolve_bindings(*source, info.bindings, info.constants);
    if (!bindings) return bindings.error();
    if (auto checked = check_semaphores(info); !checked) return checked.error();

    if (info.wait.empty() && info.signal.empty()) {
      Submission done(done_at_once());  // first of all, since making it may fail
      if (impl_->backend->run_now(*source->executable, **bindings)) return done;
    }
    auto state = std::make_shared<Submission::State>();
    impl_->backend->submit({.executable = source->executable,
                            .bindings = std::move(*bindings),
                            .wait = info.wait,
                            .signal = info.signal,
                            .done = state,
                            .keep_alive = source});
    impl_->track(state);
    return Submission(std::move(state));
  });
}

Result<Submission> Queue::run(const CommandBuffer& commands, const SubmitInfo& info) const {
  return guarded([&]() -> Result<Submission> {
    if (!impl_) return invalid("the queue is empty");
    // Not through the queue, which may be one of its own beside the device: its own work would hold on to it.
    const Device device(impl_->device->shared_from_this());
    InstantiateOptions options;
    options.bindings = info.bindings;
    options.constants = info.constants;
    options.expected_replays = 1;
    const Result<Graph> graph = device.instantiate(commands, options);
    if (!graph) return graph.error();
    SubmitInfo rest;
    rest.wait = info.wait;
    rest.signal = info.signal;
    return submit(*graph, rest);
  });
}

Result<> Queue::wait_idle() const {
  return guarded([&]() -> Result<> {
    if (!impl_) return invalid("the queue is empty");
    std::deque<std::shared_ptr<Submission::State>> pending;
    std::optional<Error> first_error;
    {
      const std::lock_guard lock(impl_->mutex);
      pending = impl_->pending;
      first_error.swap(impl_->first_error);
    }
    for (const auto& state : pending) {
      const Result<> result = state->wait(std::nullopt);
      if (!result && !first_error) first_error = result.error();
    }
    impl_->forget(pending);
    if (first_error) return *first_error;
    return {};
  });
}

}  // namespace pianola
