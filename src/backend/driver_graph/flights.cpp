// SPDX-License-Identifier: Apache-2.0
#include "backend/driver_graph/flights.hpp"

#include "backend/host_queue.hpp"
#include "base/guarded.hpp"

namespace pianola::driver_graph {
namespace {

using std::chrono::steady_clock;

/// How long a waiting thread looks at an event without a rest, and for how much of it it keeps the processor for
/// itself. Where others want it, it is away for milliseconds.
constexpr auto patience = std::chrono::milliseconds(5);
constexpr auto greed = std::chrono::microseconds(500);
/// Then it sleeps between looks, this part of the time that it has waited: so much later does it see the end at most.
constexpr int part = 32;
constexpr auto longest_sleep = std::chrono::milliseconds(1);
/// How long work that nobody waits for may lie unfinished before the queue's thread takes care of it.
constexpr auto tick = std::chrono::milliseconds(1);
constexpr int idle_ticks = 10;

const std::atomic<bool> never{false};

bool has_passed(Progress::Deadline deadline) {
  return deadline && steady_clock::now() >= *deadline;
}

/// Between two looks at an event. Being woken by the driver would cost every replay: an event that wakes a thread takes
/// the device some 0.9 us more, and the thread some 40 us.
void pause(steady_clock::duration waited) {
  if (waited < greed) {
    // Drivers answer under locks that others may want.
    for (int i = 0; i < 100; ++i) (void)never.load(std::memory_order_acquire);
  } else if (waited < patience) {
    std::this_thread::yield();
  } else {
    std::this_thread::sleep_for(std::min<steady_clock::duration>(waited / part, longest_sleep));
  }
}

/// False if the deadline passed.
bool wait(std::condition_variable& wake, std::unique_lock<std::mutex>& lock, Progress::Deadline deadline) {
  if (deadline) return wake.wait_until(lock, *deadline) == std::cv_status::no_timeout;
  wake.wait(lock);
  return true;
}

}  // namespace

/// Under the lock.
void Flights::start_thread() {
  if (!thread_.joinable()) thread_ = std::thread([self = shared_from_this()] { self->work(); });
}

Result<std::list<Flight>> Flights::take() {
  std::list<Flight> taken;
  {
    const std::lock_guard lock(mutex_);
    start_thread();
    std::erase_if(spare_, [](const Flight& spare) { return spare.watchers == 0 && !spare.event; });
    for (auto at = spare_.begin(); at != spare_.end(); ++at) {
      if (at->watchers != 0 || !at->event) continue;
      taken.splice(taken.begin(), spare_, at);
      return taken;
    }
  }
  taken.emplace_back();
  Result<Event> made = driver_->table().event_create(driver_->table().api, false);
  if (!made) return made.error();
  taken.front().event = UniqueEvent(driver_, *made);
  return taken;
}

void Flights::promise(const std::vector<SemaphoreValue>& signals, Event event) noexcept {
  if (signals.empty()) return;
  try {
    const auto end = std::make_shared<const JobEnd>(*driver_, shared_from_this(), event);
    for (const SemaphoreValue& signal : signals) signal.semaphore.state()->promise(signal.value, end);
  } catch (const std::bad_alloc&) {
    return;  // who waits is held on the host
  }
}

std::optional<Error> Flights::launch_failed(backend::Job& job, std::vector<Promise> promises,
                                            std::optional<Error> error) noexcept {
  try {
    std::list<Flight> flight(1);
    {
      Lock lock(mutex_);
      const bool is_completed_elsewhere = is_completing() && completing_ != std::this_thread::get_id();
      if (flying_.empty() && !is_completed_elsewhere && promises.empty()) return error;
      start_thread();
    }
    flight.front().promises = std::make_shared<const std::vector<Promise>>(std::move(promises));
    flight.front().error = std::move(error);
    flight.front().is_ended = true;
    flight.front().job = std::move(job);
    launch(std::move(flight));
    return std::nullopt;
  } catch (...) {
    (void)are_kept(promises, never, std::nullopt);
    return error;
  }
}

void Flights::launch(std::list<Flight> flight) noexcept {
  flight.front().job.done->follow(shared_from_this());
  const std::lock_guard lock(mutex_);
  if (!flight.front().job.signal.empty()) ++signals_;
  flying_.splice(flying_.end(), flight);
  if (!is_ticking_ || is_thread_wanted()) wanted_.notify_one();
  if (waiters_ != 0) changed_.notify_all();
}

void Flights::collect() noexcept {
  advance(never, steady_clock::now());
}

void Flights::finish() {
  Lock lock(mutex_);
  stop_ = true;
  wanted_.notify_all();
  // A job may have held the last handle of the queue, on the queue's own thread or on one that this thread waits for.
  const bool ends_by_itself = backend::is_finishing_here();
  if (!ends_by_itself) changed_.wait(lock, [&] { return !is_completing(); });
  std::thread thread = std::move(thread_);
  lock.unlock();
  if (!thread.joinable()) return;
  if (ends_by_itself) {
    thread.detach();
  } else {
    thread.join();
  }
}

Result<bool> Flights::is_done(Event event) const {
  const ContextScope scope(*driver_);
  if (!scope.status()) return copy_of(scope.status().error());
  return driver_->table().event_is_done(driver_->table().api, event);
}

/// How the work ended; nothing if it has not by the time that `is_met` or the deadline comes.
std::optional<Result<>> Flights::look_at(Event event, const std::atomic<bool>& is_met, Deadline until,
                                         steady_clock::duration waited) const {
  const steady_clock::time_point begin = steady_clock::now() - waited;
  for (;;) {
    Result<bool> done = is_done(event);
    if (!done) {
      // An error of the call itself does not mean that the work has ended.
      const ContextScope scope(*driver_);
      (void)driver_->table().event_synchronize(driver_->table().api, event);
      return Result<>(std::move(done.error()));
    }
    if (*done) return Result<>();
    if (is_met.load(std::memory_order_acquire) || has_passed(until)) return std::nullopt;
    pause(steady_clock::now() - begin);
  }
}

void Flights::advance(const std::atomic<bool>& is_met, Deadline deadline) noexcept {
  Lock lock(mutex_);
  ++waiters_;
  while (!is_met.load(std::memory_order_acquire)) {
    if (flying_.empty() || is_completing()) {
      if (!wait(changed_, lock, deadline)) break;
      continue;
    }
    const bool is_over = !land(lock, is_met, deadline, {}) && has_passed(deadline);
    if (is_over) break;
  }
  --waiters_;
}

/// Waits for the oldest flight and completes it. False if it did not end by the time that `is_met` or the deadline
/// comes.
bool Flights::land(Lock& lock, const std::atomic<bool>& is_met, Deadline deadline, steady_clock::duration waited) {
  Flight& flight = flying_.front();
  const bool is_ended = flight.is_ended;
  const auto promises = flight.promises;
  ++flight.watchers;  // until the lock is not let go of any more: another job may use the flight again otherwise
  lock.unlock();
  std::optional<Result<>> done = Result<>();
  if (!is_ended) done = look_at(flight.event.get(), is_met, deadline, waited);
  if (done && promises != nullptr && !are_kept(*promises, is_met, deadline)) done.reset();
  lock.lock();
  --flight.watchers;
  if (!done) return false;
  complete(lock, flight, std::move(*done));
  return true;
}

/// Completes the oldest job if its work has ended.
bool Flights::land_oldest() {
  Lock lock(mutex_);
  if (flying_.empty() || is_completing()) return false;
  return land(lock, never, steady_clock::now(), {});
}

/// Whether the semaphores are settled by the time that `is_met` or the deadline comes. Completes what is promised,
/// where no other thread does, and nothing that comes after it, which may wait for the job at hand.
bool Flights::are_kept(const std::vector<Promise>& promises, const std::atomic<bool>& is_met, Deadline deadline) {
  const steady_clock::time_point begin = steady_clock::now();
  for (const Promise& promise : promises) {
    while (!promise.value.semaphore.state()->is_ready(promise.value.value, nullptr)) {
      if (promise.end->flights->land_oldest()) continue;
      if (is_met.load(std::memory_order_acquire) || has_passed(deadline)) return false;
      pause(steady_clock::now() - begin);
    }
  }
  return true;
}

std::optional<Error> Flights::read_times(const Timeline& timeline, Submission::State& state) const {
  const ContextScope scope(*driver_);
  if (!scope.status()) return copy_of(scope.status().error());
  auto times = guarded([&] { return timeline.read(); });
  if (!times) return driver_->note(std::move(times.error()));
  state.times = std::move(*times);
  return std::nullopt;
}

/// Ends the flight if it is still the oldest and no other thread is at it.
void Flights::complete(Lock& lock, const Flight& flight, Result<> done) {
  if (is_completing() || flying_.empty() || &flying_.front() != &flight) return;
  std::list<Flight> own;
  own.splice(own.begin(), flying_, flying_.begin());
  backend::Job job = std::move(own.front().job);
  std::shared_ptr<void> in_use = std::move(own.front().in_use);
  std::unique_ptr<Timeline> timeline = std::move(own.front().timeline);
  std::optional<Error> error = std::exchange(own.front().error, std::nullopt);
  auto promises = std::exchange(own.front().promises, nullptr);
  own.front().is_ended = false;
  spare_.splice(spare_.end(), own);
  if (!job.signal.empty()) --signals_;
  completing_ = std::this_thread::get_id();
  lock.unlock();
  for (size_t i = 0; promises != nullptr && i < promises->size(); ++i) {
    const auto& [semaphore, value] = (*promises)[i].value;
    auto kept = guarded([&] { return semaphore.state()->promised(value, nullptr); });
    if (!kept) error = std::move(kept.error());
  }
  if (!done && !error) {
    error = driver_->lost();
    if (!error) error = driver_->note(std::move(done.error()));
  }
  if (!error && timeline != nullptr) error = read_times(*timeline, *job.done);
  promises.reset();
  timeline.reset();
  in_use.reset();
  backend::finish(job, std::move(error));
  lock.lock();
  completing_ = {};
  ++completed_;
  changed_.notify_all();
}

void Flights::work() {
  Lock lock(mutex_);
  while (!stop_ || !flying_.empty()) {
    if (!flying_.empty() && (is_thread_wanted() || (is_in_charge_ && waiters_ == 0))) {
      // Another thread may be completing a job just now, which comes first.
      changed_.wait(lock, [&] { return !is_completing() || flying_.empty(); });
      if (!flying_.empty()) land(lock, never, std::nullopt, signals_ != 0 ? greed : patience);
    } else {
      rest(lock);
    }
  }
}

void Flights::rest(Lock& lock) {
  is_in_charge_ = false;
  for (int idle = 0; idle < idle_ticks; ++idle) {
    const uint64_t before = completed_;
    is_ticking_ = true;
    const bool in_time = wanted_.wait_for(lock, tick) == std::cv_status::no_timeout;
    is_ticking_ = false;
    if (in_time || stop_) return;
    if (!flying_.empty()) {
      is_in_charge_ = completed_ == before;
      return;
    }
    if (completed_ != before) idle = 0;
  }
  wanted_.wait(lock, [&] { return stop_ || !flying_.empty(); });
}

}  // namespace pianola::driver_graph
