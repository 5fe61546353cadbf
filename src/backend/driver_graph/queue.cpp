// SPDX-License-Identifier: Apache-2.0
#include "backend/driver_graph/queue.hpp"

#include "backend/driver_graph/executable.hpp"
#include "backend/driver_graph/flights.hpp"
#include "base/guarded.hpp"

namespace pianola::driver_graph {
namespace {

GraphExecutable& executable_of(const backend::Job& job) {
  return static_cast<GraphExecutable&>(*job.executable);
}

/// What the device has to wait for; the other waits are met. Errors: dependency_failed.
Result<std::vector<Promise>> promises_of(const backend::Job& job, const Driver& driver) {
  std::vector<Promise> promises;
  for (const SemaphoreValue& wait : job.wait) {
    auto promise = wait.semaphore.state()->promised(wait.value, &driver);
    if (!promise) return promise.error();
    if (*promise) promises.push_back({wait, std::static_pointer_cast<const JobEnd>(*promise)});
  }
  return promises;
}

}  // namespace

struct GraphQueue::State {
  State(const DriverRef& on, Stream stream) : driver(on), given(stream), flights(std::make_shared<Flights>(on)) {}
  Result<StreamSet*> open_streams();
  Result<> wait_for(const std::vector<Promise>& promises, Stream stream) const;

  DriverRef driver;
  Stream given;
  std::mutex mutex;
  std::unique_ptr<StreamSet> streams;  // issued on only by the one job that is being issued
  std::shared_ptr<Flights> flights;
};

/// The device is current.
Result<StreamSet*> GraphQueue::State::open_streams() {
  const std::lock_guard lock(mutex);
  if (streams == nullptr) {
    Result<std::unique_ptr<StreamSet>> made = StreamSet::create(driver, given);
    if (!made) return driver->note(std::move(made.error()));
    streams = std::move(*made);
  }
  return streams.get();
}

/// Work of this queue is on the same stream, and waits as it is.
Result<> GraphQueue::State::wait_for(const std::vector<Promise>& promises, Stream stream) const {
  for (const auto& [value, end] : promises) {
    if (end->flights == flights) continue;
    if (auto done = driver->table().stream_wait(driver->table().api, stream, end->event); !done) return done;
  }
  return {};
}

GraphQueue::GraphQueue(const DriverRef& driver, Stream stream)
    : state_(std::make_shared<State>(driver, stream)),
      issuing_(std::make_unique<backend::HostQueue>(
          [state = state_](backend::Job& job) { return issue(*state, job); },
          [](const backend::Job& job) { return !executable_of(job).blocks(); }, driver.get())) {}

GraphQueue::~GraphQueue() {
  issuing_.reset();
  state_->flights->finish();
}

Result<Stream> GraphQueue::native() const {
  const ContextScope scope(*state_->driver);
  if (!scope.status()) return scope.status().error();
  Result<StreamSet*> opened = state_->open_streams();
  if (!opened) return opened.error();
  return (*opened)->main();
}

std::optional<Error> GraphQueue::issue(State& state, backend::Job& job) {
  const Driver& driver = *state.driver;
  const DriverTable& table = driver.table();
  if (std::optional<Error> lost = driver.lost()) return lost;
  const ContextScope scope(driver);
  if (!scope.status()) return scope.status().error();
  Result<StreamSet*> opened = state.open_streams();
  if (!opened) return opened.error();
  StreamSet& streams = **opened;
  // Graphs in flight are not changed, so it pays to know which ones have landed.
  if (!table.quirks.update_in_flight) state.flights->collect();
  // The event comes first: once work is under way nothing may keep it from being waited for.
  Result<std::list<Flight>> taken = state.flights->take();
  if (!taken) return driver.note(std::move(taken.error()));
  Flight& flight = taken->front();
  GraphExecutable::Launch launch;
  Result<> launched = guarded([&]() -> Result<> {
    auto promises = promises_of(job, driver);
    if (!promises) return promises.error();
    flight.promises = std::move(*promises);
    if (auto done = state.wait_for(flight.promises, streams.main()); !done) return done;
    return executable_of(job).launch(streams, job.bindings, launch);
  });
  flight.error = launched ? std::move(launch.over_limit) : driver.note(std::move(launched.error()));
  flight.in_use = std::move(launch.in_use);
  flight.timeline = std::move(launch.timeline);
  const Result<> recorded = table.event_record(table.api, flight.event.get(), streams.main());
  if (!recorded) {
    (void)table.stream_synchronize(table.api, streams.main());
    const std::optional<Error> error = flight.error;
    state.flights->put_back(std::move(*taken));
    return error ? error : driver.note(recorded.error());
  }
  if (!flight.error) state.flights->promise(job.signal, flight.event.get());
  flight.job = std::move(job);
  state.flights->launch(std::move(*taken));
  return std::nullopt;
}

}  // namespace pianola::driver_graph
