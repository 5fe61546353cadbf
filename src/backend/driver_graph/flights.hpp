// SPDX-License-Identifier: Apache-2.0
// The jobs of one queue that are on the device, and how they come to their end.
//
// A job's event tells that its work is done. Whoever waits for a submission looks at the events itself and completes
// what has ended; being woken by another thread would cost more than many a replay. The queue's own thread completes
// what nobody waits for: at once where a semaphore is to be signalled, else when nothing has moved for a while. Any
// number of threads may look; one at a time completes, always the oldest job.
//
// A job may start with waits for jobs of other queues, which its stream waits for. It completes after them, and fails
// with them.
#pragma once

#include <list>
#include <thread>
#include <vector>

#include "backend/backend.hpp"
#include "backend/driver_graph/driver.hpp"
#include "backend/driver_graph/timeline.hpp"

namespace pianola::driver_graph {

class Flights;

/// A job's end on its device: the event that its queue has recorded behind it.
struct JobEnd final : DeviceSignal {
  JobEnd(const Driver& driver, std::shared_ptr<Flights> of_queue, Event recorded)
      : DeviceSignal(&driver), flights(std::move(of_queue)), event(recorded) {}
  std::shared_ptr<Flights> flights;  ///< which keep the event
  Event event;
};

struct Promise {
  SemaphoreValue value;
  std::shared_ptr<const JobEnd> end;
};

struct Flight {
  UniqueEvent event;      ///< made once; later flights use it again
  uint32_t watchers = 0;  ///< threads that look at the event
  bool is_ended = false;  ///< nothing is to be waited for on the device
  backend::Job job;
  std::shared_ptr<const std::vector<Promise>> promises;  ///< to be kept before it completes, or null
  std::shared_ptr<void> in_use;                          ///< to be kept until the work is done
  std::unique_ptr<Timeline> timeline;                    ///< to be read then, or null
  std::optional<Error> error;
};

class Flights final : public Progress, public std::enable_shared_from_this<Flights> {
 public:
  explicit Flights(DriverRef driver) : driver_(std::move(driver)) {}

  /// One flight with an event that nobody looks at. The device is current. Starts the queue's thread.
  Result<std::list<Flight>> take();
  /// A job that has failed before the device had it: it completes in its turn, and after its promises. Gives the job
  /// and the error back if there is nothing to come after, or no memory.
  std::optional<Error> launch_failed(backend::Job& job, std::vector<Promise> promises,
                                     std::optional<Error> error) noexcept;
  /// The event has been recorded behind work that will signal these, or fail them.
  void promise(const std::vector<SemaphoreValue>& signals, Event event) noexcept;
  /// The flight's event has been recorded: its job completes from now on. Never fails.
  void launch(std::list<Flight> flight) noexcept;
  /// Completes what has ended without waiting for more.
  void collect() noexcept;
  void advance(const std::atomic<bool>& is_met, Deadline deadline) noexcept override;
  /// No more jobs will come. Waits until those in flight have completed, unless it is called where a job ends.
  void finish();

 private:
  using Lock = std::unique_lock<std::mutex>;
  bool is_thread_wanted() const { return stop_ || signals_ != 0; }
  bool is_completing() const { return completing_ != std::thread::id(); }
  void start_thread();
  void work();
  void rest(Lock& lock);
  bool land_oldest();
  static bool are_kept(const std::vector<Promise>& promises, const std::atomic<bool>& is_met, Deadline deadline);
  bool land(Lock& lock, const std::atomic<bool>& is_met, Deadline deadline, std::chrono::steady_clock::duration waited);
  void complete(Lock& lock, const Flight& flight, Result<> done);
  std::optional<Error> read_times(const Timeline& timeline, Submission::State& state) const;
  Result<bool> is_done(Event event) const;
  std::optional<Result<>> look_at(Event event, const std::atomic<bool>& is_met, Deadline until,
                                  std::chrono::steady_clock::duration waited) const;

  DriverRef driver_;
  std::mutex mutex_;
  std::condition_variable changed_;  ///< those who wait: a job has completed, or was launched
  std::condition_variable wanted_;   ///< the queue's thread
  std::list<Flight> flying_;         ///< oldest first
  std::list<Flight> spare_;
  std::thread thread_;
  std::thread::id completing_;  ///< who is completing a job just now
  uint64_t completed_ = 0;
  uint32_t waiters_ = 0;       ///< threads that look at events
  uint32_t signals_ = 0;       ///< flights with semaphores to signal
  bool is_ticking_ = false;    ///< the thread looks in from time to time, so no launch need wake it
  bool is_in_charge_ = false;  ///< the thread completes what nobody waits for
  bool stop_ = false;
};

}  // namespace pianola::driver_graph
