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

/// Called by Metal, through whose frames nothing may be thrown.
std::optional<Error> error_of(id<MTLCommandBuffer> done, const InFlight& flight) noexcept {
  return guarded([&]() -> std::optional<Error> {
    if ([done status] == MTLCommandBufferStatusError) return command_buffer_error([done error]);
    if (!flight.checks) return std::nullopt;
    return static_cast<MetalExecutable&>(*flight.job.executable).failed_check(flight.checks.get());
  });
}

}  // namespace

Result<> Loss::check() const {
  if (!is_lost()) return {};
  return Error{.code = Errc::device_lost, .message = "the Metal device was lost by earlier work"};
}

Flights::Flight Flights::add(std::list<InFlight> flight) noexcept {
  const auto at = flight.begin();
  const std::lock_guard lock(mutex_);
  flights_.splice(flights_.end(), flight);
  return at;
}

Result<> Flights::follow(Flight flight, const SemaphoreValue& promise) {
  {
    const std::lock_guard lock(mutex_);
    ++flight->missing;
  }
  auto followed = guarded([&]() -> Result<> {
    const auto land_one = [self = shared_from_this(), flight](const std::optional<Error>& failure) {
      self->land(flight, failure ? std::optional(copy_of(*failure)) : std::nullopt);
    };
    promise.semaphore.state()->when_reached(promise.value, land_one);
    return {};
  });
  if (!followed) {
    (void)guarded([&] { return promise.semaphore.state()->wait(promise.value, {}); });
    const std::lock_guard lock(mutex_);
    --flight->missing;  // not to zero: its own work is missing
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

bool Flights::has_room() {
  const std::lock_guard lock(mutex_);
  return flights_.size() < max_in_flight;
}

void Flights::wait_for_room() {
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [this] { return flights_.size() < max_in_flight; });
}

void Flights::land(Flight flight, std::optional<Error> error) noexcept {
  if (error) loss_.note(error->code);
  std::unique_lock lock(mutex_);
  if (error && !flight->error) flight->error = std::move(error);
  --flight->missing;
  settle(lock);
}

void Flights::launched(Flight flight) noexcept {
  std::unique_lock lock(mutex_);
  flight->is_launched = true;
  --flight->missing;
  settle(lock);
}

/// Completes what is over, in order of submission. If another thread is at it, that one does.
void Flights::settle(std::unique_lock<std::mutex>& lock) noexcept {
  if (is_landing_) return;
  is_landing_ = true;
  while (!flights_.empty() && flights_.front().missing == 0) {
    std::list<InFlight> first;
    first.splice(first.begin(), flights_, flights_.begin());
    wake_.notify_all();
    lock.unlock();
    if (first.front().end) first.front().end->reach();
    first.front().argument_buffers.reset();
    first.front().checks = {};
    finish(first.front().job, std::move(first.front().error));
    first.front().promises.clear();
    lock.lock();
    if (first.front().end) keep_spare(std::move(first.front().end));
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

void Flights::promise_first() noexcept {
  if (flights_.empty()) return;
  InFlight& first = flights_.front();
  if (!first.end || first.error || first.is_promised || !first.is_launched || first.missing > 1) return;
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
  const auto room = [flights = flights_](const Job&) { return flights->has_room(); };
  jobs_ = std::make_unique<HostQueue>(
      [this](Job& job, std::optional<Error> failed) { return start(job, std::move(failed)); }, room,
      (const void*)device);
}

MetalQueue::~MetalQueue() {
  jobs_.reset();
  flights_->wait_until_empty();
}

/// A job that fails here is in the list too, so that it completes after those before it.
std::optional<Error> MetalQueue::start(Job& job, std::optional<Error> failed) {
  flights_->wait_for_room();
  std::list<InFlight> one(1);
  InFlight& flight = one.front();
  flight.job = std::move(job);
  @autoreleasepool {
    id<MTLCommandBuffer> commands = nil;
    auto encoded = gather_promises(flight);
    if (failed) encoded = std::move(*failed);
    if (encoded) encoded = guarded([&] { return prepare(flight, commands); });
    const auto at = flights_->add(std::move(one));
    auto followed = follow_promises(at);  // of a job that fails here too, or it would fail those it waits for
    if (encoded) encoded = std::move(followed);
    if (!encoded) {
      flights_->land(at, std::move(encoded.error()));
    } else if (commands == nil) {
      flights_->land(at, std::nullopt);
    } else {
      const auto flights = flights_;
      [commands addCompletedHandler:^(id<MTLCommandBuffer> done) {
        flights->land(at, error_of(done, *at));
      }];
      [commands commit];
    }
    flights_->launched(at);
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

/// Gives an encoded command buffer, or none if there is nothing to run.
Result<> MetalQueue::prepare(InFlight& flight, id<MTLCommandBuffer>& commands) {
  if (auto is_there = loss_.check(); !is_there) return is_there;
  auto& executable = static_cast<MetalExecutable&>(*flight.job.executable);
  if (executable.program.steps.empty()) return {};
  auto argument_buffers = executable.argument_buffers(flight.job.bindings);
  if (!argument_buffers) return argument_buffers.error();
  flight.argument_buffers = std::move(*argument_buffers);
  auto checks = executable.make_checks();
  if (!checks) return checks.error();
  flight.checks = std::move(*checks);
  commands = [queue_.get() commandBufferWithUnretainedReferences];
  if (commands == nil) return call_error(Errc::out_of_memory, "commandBuffer", "no command buffer", nil);
  for (const auto& [wait, end] : flight.promises) {
    // Work of this queue is ordered by the buffers that it shares.
    if (end->queue != flights_.get()) [commands encodeWaitForEvent:end->event.get() value:end->value];
  }
  if (auto done = encode(commands, executable, *flight.job.bindings, flight); !done) return done;
  const bool host_decides = static_cast<bool>(flight.checks);
  if (flight.job.signal.empty() || host_decides) return {};
  auto end = flights_->make_end();
  if (!end) return end.error();
  flight.end = std::move(*end);
  [commands encodeSignalEvent:flight.end->event.get() value:flight.end->value];
  return {};
}

}  // namespace pianola::backend::metal
