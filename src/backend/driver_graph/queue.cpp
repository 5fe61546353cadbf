// SPDX-License-Identifier: Apache-2.0
#include "backend/driver_graph/queue.hpp"

#include "backend/driver_graph/executable.hpp"
#include "base/guarded.hpp"

namespace pianola::driver_graph {
namespace {

GraphExecutable& executable_of(const backend::Job& job) {
  return static_cast<GraphExecutable&>(*job.executable);
}

/// Gathers all that the device has to wait for; the other waits are met. Gives the first failure among them.
std::optional<Error> gather_promises(const backend::Job& job, const Driver& driver, std::vector<Promise>& promises) {
  std::optional<Error> failed;
  for (const SemaphoreValue& wait : job.wait) {
    auto promise = wait.semaphore.state()->promised(wait.value, &driver);
    if (!promise) {
      if (!failed) failed = std::move(promise.error());
    } else if (*promise) {
      promises.push_back({wait, std::static_pointer_cast<const JobEnd>(*promise)});
    }
  }
  return failed;
}

}  // namespace

struct GraphQueue::State {
  State(const DriverRef& on, Stream stream) : driver(on), given(stream), flights(std::make_shared<Flights>(on)) {}
  /// Once nobody issues any more: not with the queue, if that goes with a job of its own or while jobs are left.
  ~State() { flights->finish(); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
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
          [state = state_](backend::Job& job, std::optional<Error> failed) {
            return issue(*state, job, std::move(failed));
          },
          [](const backend::Job& job) { return !executable_of(job).blocks(); }, driver.get())) {}

GraphQueue::~GraphQueue() = default;

Result<Stream> GraphQueue::native() const {
  const ContextScope scope(*state_->driver);
  if (!scope.status()) return scope.status().error();
  Result<StreamSet*> opened = state_->open_streams();
  if (!opened) return opened.error();
  return (*opened)->main();
}

std::optional<Error> GraphQueue::issue(State& state, backend::Job& job, std::optional<Error> failed) {
  std::vector<Promise> promises;
  const auto gathered = guarded([&]() -> Result<> {
    promises.reserve(job.wait.size());
    auto error = gather_promises(job, *state.driver, promises);
    return error ? Result<>(std::move(*error)) : Result<>();
  });
  if (!gathered && !failed) failed = copy_of(gathered.error());
  if (!failed) {
    auto flight = guarded([&] { return put_on_stream(state, job, promises); });
    if (flight) {
      flight->front().job = std::move(job);
      state.flights->launch(std::move(*flight));
      return std::nullopt;
    }
    failed = std::move(flight.error());
  }
  return state.flights->launch_failed(job, std::move(promises), std::move(failed));
}

/// A flight whose event is recorded behind the job's work, or whose stream has been waited for. Errors: the work has
/// not begun.
Result<std::list<Flight>> GraphQueue::put_on_stream(State& state, const backend::Job& job,
                                                    const std::vector<Promise>& promises) {
  const Driver& driver = *state.driver;
  const DriverTable& table = driver.table();
  if (std::optional<Error> lost = driver.lost()) return std::move(*lost);
  const ContextScope scope(driver);
  if (!scope.status()) return scope.status().error();
  Result<StreamSet*> opened = state.open_streams();
  if (!opened) return opened.error();
  StreamSet& streams = **opened;
  const auto kept = promises.empty() ? nullptr : std::make_shared<const std::vector<Promise>>(promises);
  // Graphs in flight are not changed, so it pays to know which ones have landed.
  if (!table.quirks.update_in_flight) state.flights->collect();
  // The event comes first: once work is under way nothing may keep it from being waited for. From here on nothing
  // throws, or the event would go while other queues may still wait for it.
  Result<std::list<Flight>> taken = state.flights->take();
  if (!taken) return driver.note(std::move(taken.error()));
  Flight& flight = taken->front();
  flight.promises = kept;
  GraphExecutable::Launch launch;
  Result<> launched = guarded([&]() -> Result<> {
    if (auto done = state.wait_for(promises, streams.main()); !done) return done;
    return executable_of(job).launch(streams, job.bindings, launch);
  });
  flight.error = launched ? std::move(launch.over_limit) : driver.note(std::move(launched.error()));
  flight.in_use = std::move(launch.in_use);
  flight.timeline = std::move(launch.timeline);
  Result<> recorded = guarded([&] { return table.event_record(table.api, flight.event.get(), streams.main()); });
  if (!recorded) {
    (void)table.stream_synchronize(table.api, streams.main());
    flight.is_ended = true;
    Error error = driver.note(std::move(recorded.error()));
    if (!flight.error) flight.error = std::move(error);
  }
  if (!flight.error) state.flights->promise(job.signal, flight.event.get());
  return taken;
}

}  // namespace pianola::driver_graph
