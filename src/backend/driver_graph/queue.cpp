// SPDX-License-Identifier: Apache-2.0
#include "backend/driver_graph/queue.hpp"

#include <condition_variable>
#include <deque>
#include <thread>

#include "backend/driver_graph/executable.hpp"

namespace pianola::driver_graph {
namespace {

/// A job on the device. The event tells that its work is done.
struct Flight {
  backend::Job job;
  std::shared_ptr<void> in_use;
  UniqueEvent event;
  std::optional<Error> error;
};

GraphExecutable& executable_of(const backend::Job& job) {
  return static_cast<GraphExecutable&>(*job.executable);
}

}  // namespace

struct GraphQueue::State {
  explicit State(DriverRef on) : driver(std::move(on)) {}
  Result<UniqueEvent> take_event();

  DriverRef driver;
  std::unique_ptr<StreamSet> streams;  // only touched by the one job that is being issued
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Flight> flights;
  std::vector<UniqueEvent> events;  // not in use
  std::thread thread;
  bool stop = false;
};

Result<UniqueEvent> GraphQueue::State::take_event() {
  {
    const std::lock_guard lock(mutex);
    if (!events.empty()) {
      UniqueEvent event = std::move(events.back());
      events.pop_back();
      return event;
    }
  }
  Result<Event> made = driver->table().event_create(driver->table().api, false);
  if (!made) return made.error();
  return UniqueEvent(driver, *made);
}

GraphQueue::GraphQueue(const DriverRef& driver)
    : state_(std::make_shared<State>(driver)),
      issuing_(
          std::make_unique<backend::HostQueue>([state = state_](backend::Job& job) { return issue(state, job); },
                                               [](const backend::Job& job) { return !executable_of(job).blocks(); })) {}

GraphQueue::~GraphQueue() {
  issuing_.reset();
  std::unique_lock lock(state_->mutex);
  state_->stop = true;
  state_->changed.notify_all();
  std::thread thread = std::move(state_->thread);
  lock.unlock();
  if (!thread.joinable()) return;
  // The last job may have dropped the device on the queue's own thread, which then ends by itself.
  if (thread.get_id() == std::this_thread::get_id()) {
    thread.detach();
  } else {
    thread.join();
  }
}

std::optional<Error> GraphQueue::issue(const std::shared_ptr<State>& state, backend::Job& job) {
  Driver& driver = *state->driver;
  const DriverTable& table = driver.table();
  if (std::optional<Error> lost = driver.lost()) return lost;
  const ContextScope scope(driver);
  if (!scope.status()) return scope.status().error();
  if (state->streams == nullptr) {
    Result<std::unique_ptr<StreamSet>> made = StreamSet::create(state->driver);
    if (!made) return driver.note(std::move(made.error()));
    state->streams = std::move(*made);
  }
  // The event comes first: once work is under way nothing may keep it from being waited for.
  Result<UniqueEvent> event = state->take_event();
  if (!event) return driver.note(std::move(event.error()));
  Result<GraphExecutable::Launch> launched = executable_of(job).launch(*state->streams, job.bindings);
  Flight flight;
  flight.error = launched ? std::move(launched->over_limit) : driver.note(std::move(launched.error()));
  if (launched) flight.in_use = std::move(launched->in_use);
  const Result<> recorded = table.event_record(table.api, event->get(), state->streams->main());
  if (!recorded) {
    (void)table.stream_synchronize(table.api, state->streams->main());
    return flight.error ? flight.error : driver.note(recorded.error());
  }
  flight.event = std::move(*event);
  flight.job = std::move(job);
  const std::lock_guard lock(state->mutex);
  state->flights.push_back(std::move(flight));
  if (!state->thread.joinable()) state->thread = std::thread([state] { complete_jobs(state); });
  state->changed.notify_all();
  return std::nullopt;
}

void GraphQueue::complete_jobs(const std::shared_ptr<State>& state) {
  Driver& driver = *state->driver;
  const DriverTable& table = driver.table();
  std::unique_lock lock(state->mutex);
  for (;;) {
    state->changed.wait(lock, [&] { return state->stop || !state->flights.empty(); });
    if (state->flights.empty()) return;
    const Event event = state->flights.front().event.get();
    lock.unlock();
    Result<> done;
    {
      const ContextScope scope(driver);
      done = scope.status();
      if (done) done = table.event_synchronize(table.api, event);
    }
    lock.lock();
    Flight flight = std::move(state->flights.front());
    state->flights.pop_front();
    if (done) state->events.push_back(std::move(flight.event));
    lock.unlock();
    if (!done && !flight.error) {
      std::optional<Error> earlier = driver.lost();
      flight.error = earlier ? std::move(earlier) : driver.note(std::move(done.error()));
    }
    flight.in_use.reset();
    flight.event = {};
    backend::finish(flight.job, std::move(flight.error));
    lock.lock();
  }
}

}  // namespace pianola::driver_graph
