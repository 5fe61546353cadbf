// SPDX-License-Identifier: Apache-2.0
// Queues: jobs are encoded once their waits are met and completed in order by Metal's completion handlers.
//
// A wait for the job that another queue of this device is running is left to the device, by a shared event. Metal ends
// a command buffer that waits for too long, so only the oldest job of a queue, once it waits for nothing itself,
// promises its signals. Such a job may still fail; then what waits for it has run, and fails all the same. Any other
// wait is held on the host: for what is not running yet, other devices, and work that the host has the last word on.
#include "backend/metal/convert.hpp"
#include "backend/metal/device.hpp"
#include "base/guarded.hpp"

namespace pianola::backend::metal {
namespace {

/// Fewer than the Metal queue takes, so that making a command buffer never blocks.
constexpr size_t max_in_flight = 128;
constexpr NSUInteger command_buffers_of_queue = 256;
static_assert(max_command_buffers <= max_in_flight);

MetalExecutable& executable_of(const Job& job) {
  return static_cast<MetalExecutable&>(*job.executable);
}

size_t command_buffers_of(const Job& job) {
  return std::max(1U, executable_of(job).program.stats.command_buffers);
}

/// Called by Metal, through whose frames nothing may be thrown.
std::optional<Error> error_of(id<MTLCommandBuffer> done) noexcept {
  return guarded([&]() -> std::optional<Error> {
    if ([done status] == MTLCommandBufferStatusError) return command_buffer_error([done error]);
    return std::nullopt;
  });
}

std::optional<Error> error_of_counts(const InFlight& flight) noexcept {
  return guarded([&] { return executable_of(flight.job).failed_check(flight.checks.get()); });
}

/// Hands a job's command buffers to the device, each as soon as it is encoded: the device starts on the first while the
/// host encodes the next.
class Launch {
 public:
  Launch(id<MTLCommandQueue> queue, std::shared_ptr<Flights> flights, Flights::Flight flight)
      : queue_(queue), flights_(std::move(flights)), flight_(flight) {}
  /// Commits the one before.
  id<MTLCommandBuffer> next();
  void commit_last();

 private:
  void commit(bool is_last);

  id<MTLCommandQueue> queue_;
  std::shared_ptr<Flights> flights_;
  Flights::Flight flight_;
  id<MTLCommandBuffer> open_ = nil;
};

id<MTLCommandBuffer> Launch::next() {
  if (open_ != nil) commit(false);
  open_ = [queue_ commandBufferWithUnretainedReferences];
  for (const auto& [wait, end] : flight_->promises) {
    // Work of this queue is ordered by the buffers that it shares.
    if (end->queue != flights_.get()) [open_ encodeWaitForEvent:end->event.get() value:end->value];
  }
  return open_;
}

void Launch::commit_last() {
  const JobEnd* end = flight_->end.get();
  if (end != nullptr) [open_ encodeSignalEvent:end->event.get() value:end->value];
  commit(true);
}

void Launch::commit(bool is_last) {
  flights_->hand_over(flight_);
  const auto flights = flights_;
  const auto flight = flight_;
  [open_ addCompletedHandler:^(id<MTLCommandBuffer> done) {
    flights->land(flight, error_of(done), is_last);
  }];
  [open_ commit];
}

}  // namespace

Result<> Loss::check() const {
  if (!is_lost()) return {};
  return Error{.code = Errc::device_lost, .message = "the Metal device was lost by earlier work"};
}

Flights::Flight Flights::add(std::list<InFlight> flight) noexcept {
  const auto at = flight.begin();
  const std::lock_guard lock(mutex_);
  command_buffers_ += at->command_buffers;
  flights_.splice(flights_.end(), flight);
  return at;
}

Result<> Flights::follow(Flight flight, const SemaphoreValue& promise) {
  {
    const std::lock_guard lock(mutex_);
    ++flight->unmet;
  }
  auto followed = guarded([&]() -> Result<> {
    const auto on_end = [self = shared_from_this(), flight](const std::optional<Error>& failure) {
      self->met(flight, failure ? std::optional(copy_of(*failure)) : std::nullopt);
    };
    promise.semaphore.state()->when_reached(promise.value, on_end);
    return {};
  });
  if (!followed) {
    (void)guarded([&] { return promise.semaphore.state()->wait(promise.value, {}); });
    const std::lock_guard lock(mutex_);
    --flight->unmet;  // the flight is not over: it is still to be launched
  }
  return followed;
}

Result<std::shared_ptr<const JobEnd>> Flights::make_end() {
  std::shared_ptr<const JobEnd> spare;
  {
    const std::lock_guard lock(mutex_);
    if (!spare_ends_.empty()) {
      spare = std::move(spare_ends_.back());
      spare_ends_.pop_back();
    }
  }
  if (spare) return std::make_shared<const JobEnd>(device_, this, spare->event, spare->value + 1);
  Ref<id<MTLSharedEvent>> event([device_ newSharedEvent]);
  if (!event) return call_error(Errc::out_of_memory, "newSharedEvent", "no shared event", nil);
  return std::make_shared<const JobEnd>(device_, this, std::move(event), 1);
}

bool Flights::is_room(size_t command_buffers) const {
  return command_buffers_ + command_buffers <= max_in_flight;
}

bool Flights::has_room(size_t command_buffers) {
  const std::lock_guard lock(mutex_);
  return is_room(command_buffers);
}

void Flights::wait_for_room(size_t command_buffers) {
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [&] { return is_room(command_buffers); });
}

void Flights::hand_over(Flight flight) noexcept {
  const std::lock_guard lock(mutex_);
  ++flight->running;
}

/// Keeps the first error.
void Flights::note(InFlight& flight, std::optional<Error> error) noexcept {
  if (!error) return;
  loss_.note(error->code);
  if (!flight.error) flight.error = std::move(error);
}

void Flights::land(Flight flight, std::optional<Error> error, bool is_last) noexcept {
  std::unique_lock lock(mutex_);
  if (is_last) flight->is_promised = true;
  note(*flight, std::move(error));
  --flight->running;
  settle(lock);
}

void Flights::met(Flight flight, std::optional<Error> error) noexcept {
  std::unique_lock lock(mutex_);
  note(*flight, std::move(error));
  --flight->unmet;
  settle(lock);
}

void Flights::launched(Flight flight, std::optional<Error> error) noexcept {
  std::unique_lock lock(mutex_);
  note(*flight, std::move(error));
  flight->is_launched = true;
  settle(lock);
}

/// Completes what is over, in order of submission. If another thread is at it, that one does.
void Flights::settle(std::unique_lock<std::mutex>& lock) noexcept {
  if (is_landing_) return;
  is_landing_ = true;
  while (!flights_.empty() && flights_.front().is_over()) {
    std::list<InFlight> one;
    one.splice(one.begin(), flights_, flights_.begin());
    InFlight& first = one.front();
    command_buffers_ -= first.command_buffers;
    wake_.notify_all();
    lock.unlock();
    if (first.end) first.end->reach();
    if (first.checks && !first.error) first.error = error_of_counts(first);
    first.argument_buffers.reset();
    first.checks = {};
    finish(first.job, std::move(first.error));
    first.promises.clear();
    lock.lock();
    if (first.end) keep_spare(std::move(first.end));
  }
  is_landing_ = false;
  promise_first();
}

void Flights::keep_spare(std::shared_ptr<const JobEnd> end) noexcept {
  (void)guarded([&]() -> Result<> {
    spare_ends_.push_back(std::move(end));
    return {};
  });
}

/// The last command buffer signals, and those of a queue may end in any order: it must be the only one that has not.
void Flights::promise_first() noexcept {
  if (flights_.empty()) return;
  InFlight& first = flights_.front();
  if (!first.is_launched || first.running > 1 || first.unmet != 0 || first.error || !first.end || first.is_promised)
    return;
  first.is_promised = true;
  for (const SemaphoreValue& signal : first.job.signal) signal.semaphore.state()->promise(signal.value, first.end);
}

void Flights::wait_until_empty() {
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [this] { return flights_.empty(); });
}

Result<std::unique_ptr<MetalQueue>> MetalQueue::make(id<MTLDevice> device, Loss loss) {
  Ref<id<MTLCommandQueue>> queue([device newCommandQueueWithMaxCommandBufferCount:command_buffers_of_queue]);
  if (!queue) return call_error(Errc::out_of_memory, "newCommandQueue", "no command queue", nil);
  return std::make_unique<MetalQueue>(device, std::move(queue), std::move(loss));
}

MetalQueue::MetalQueue(id<MTLDevice> device, Ref<id<MTLCommandQueue>> queue, Loss loss)
    : queue_(std::move(queue)), loss_(std::move(loss)), flights_(std::make_shared<Flights>(device, loss_)) {
  const auto room = [flights = flights_](const Job& job) { return flights->has_room(command_buffers_of(job)); };
  jobs_ = std::make_unique<HostQueue>(
      [this](Job& job, std::optional<Error> failed) { return start(job, std::move(failed)); }, room,
      (const void*)device);
}

/// Jobs keep the device alive, and so the queue: none is left but the one that goes with it.
MetalQueue::~MetalQueue() {
  jobs_.reset();
  flights_->wait_until_empty();
}

/// A job that fails here is in the list too, so that it completes after those before it.
std::optional<Error> MetalQueue::start(Job& job, std::optional<Error> failed) {
  std::list<InFlight> one(1);
  InFlight& flight = one.front();
  flight.command_buffers = command_buffers_of(job);
  flights_->wait_for_room(flight.command_buffers);
  flight.job = std::move(job);
  @autoreleasepool {
    auto gathered = gather_promises(flight);
    const auto at = flights_->add(std::move(one));
    auto done = follow_promises(at);  // of a job that fails here too, or it would fail those it waits for
    if (!gathered) done = std::move(gathered);
    if (failed) done = std::move(*failed);
    if (done) done = guarded([&] { return launch(at); });
    flights_->launched(at, done ? std::nullopt : std::optional(std::move(done.error())));
  }
  return std::nullopt;
}

Result<> MetalQueue::follow_promises(Flights::Flight flight) {
  Result<> followed;
  for (const auto& [promise, end] : flight->promises) {
    auto done = flights_->follow(flight, promise);
    if (followed) followed = std::move(done);
  }
  return followed;
}

/// All that the device has to wait for. Gives the first failure among the waits.
Result<> MetalQueue::gather_promises(InFlight& flight) {
  return guarded([&]() -> Result<> {
    Result<> gathered;
    for (const SemaphoreValue& wait : flight.job.wait) {
      auto promise = wait.semaphore.state()->promised(wait.value, (const void*)[queue_.get() device]);
      if (promise && *promise) {
        flight.promises.emplace_back(wait, std::static_pointer_cast<const JobEnd>(*promise));
      } else if (!promise && gathered) {
        gathered = std::move(promise.error());
      }
    }
    return gathered;
  });
}

/// After an error the device may have some of the job's command buffers.
Result<> MetalQueue::launch(Flights::Flight flight) {
  if (auto is_there = loss_.check(); !is_there) return is_there;
  MetalExecutable& executable = executable_of(flight->job);
  if (executable.program.steps.empty()) return {};
  auto argument_buffers = executable.argument_buffers(flight->job.bindings);
  if (!argument_buffers) return argument_buffers.error();
  flight->argument_buffers = std::move(*argument_buffers);
  auto checks = executable.make_checks();
  if (!checks) return checks.error();
  flight->checks = std::move(*checks);
  const bool host_decides = static_cast<bool>(flight->checks);
  if (!flight->job.signal.empty() && !host_decides) {
    auto end = flights_->make_end();
    if (!end) return end.error();
    flight->end = std::move(*end);
  }
  Launch launch(queue_.get(), flights_, flight);
  if (auto done = encode(executable, *flight, [&] { return launch.next(); }); !done) return done;
  launch.commit_last();
  return {};
}

}  // namespace pianola::backend::metal
