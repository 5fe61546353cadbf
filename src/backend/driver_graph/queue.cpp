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

}  // namespace

struct GraphQueue::State {
  explicit State(const DriverRef& on) : driver(on), flights(std::make_shared<Flights>(on)) {}

  DriverRef driver;
  std::unique_ptr<StreamSet> streams;  // only touched by the one job that is being issued
  std::shared_ptr<Flights> flights;
};

GraphQueue::GraphQueue(const DriverRef& driver)
    : state_(std::make_shared<State>(driver)),
      issuing_(
          std::make_unique<backend::HostQueue>([state = state_](backend::Job& job) { return issue(*state, job); },
                                               [](const backend::Job& job) { return !executable_of(job).blocks(); })) {}

GraphQueue::~GraphQueue() {
  issuing_.reset();
  state_->flights->finish();
}

std::optional<Error> GraphQueue::issue(State& state, backend::Job& job) {
  Driver& driver = *state.driver;
  const DriverTable& table = driver.table();
  if (std::optional<Error> lost = driver.lost()) return lost;
  const ContextScope scope(driver);
  if (!scope.status()) return scope.status().error();
  if (state.streams == nullptr) {
    Result<std::unique_ptr<StreamSet>> made = StreamSet::create(state.driver);
    if (!made) return driver.note(std::move(made.error()));
    state.streams = std::move(*made);
  }
  // Graphs in flight are not changed, so it pays to know which ones have landed.
  if (!table.quirks.update_in_flight) state.flights->collect();
  // The event comes first: once work is under way nothing may keep it from being waited for.
  Result<std::list<Flight>> taken = state.flights->take();
  if (!taken) return driver.note(std::move(taken.error()));
  Flight& flight = taken->front();
  auto launched = guarded([&] { return executable_of(job).launch(*state.streams, job.bindings); });
  flight.error = launched ? std::move(launched->over_limit) : driver.note(std::move(launched.error()));
  if (launched) flight.in_use = std::move(launched->in_use);
  const Result<> recorded = table.event_record(table.api, flight.event.get(), state.streams->main());
  if (!recorded) {
    (void)table.stream_synchronize(table.api, state.streams->main());
    std::optional<Error> error = std::move(flight.error);
    state.flights->put_back(std::move(*taken));
    return error ? error : driver.note(recorded.error());
  }
  flight.job = std::move(job);
  state.flights->launch(std::move(*taken));
  return std::nullopt;
}

}  // namespace pianola::driver_graph
