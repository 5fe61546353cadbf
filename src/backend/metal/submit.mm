// SPDX-License-Identifier: Apache-2.0
// Queues: jobs are encoded once their waits are met and completed in order by Metal's completion handlers.
//
// A wait for work that this device has been given already is left to the device, by the shared event of that work's
// queue. Such work may still fail; then what waits for it has run, and fails all the same. Any other wait is held on
// the host: for values that no submission promises, other devices, and work that the host has the last word on.
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
    const std::lock_guard lock(mutex_);
    --flight->missing;  // not to zero: its own work is missing
  }
  return followed;
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
  if (--flight->missing > 0 || is_landing_) return;  // if another thread is landing, it completes this one in its turn
  is_landing_ = true;
  while (!flights_.empty() && flights_.front().missing == 0) {
    std::list<InFlight> first;
    first.splice(first.begin(), flights_, flights_.begin());
    wake_.notify_all();
    lock.unlock();
    if (first.front().end) timeline_.reach(*first.front().end);
    first.front().argument_buffers.reset();
    first.front().checks = {};
    finish(first.front().job, std::move(first.front().error));
    lock.lock();
  }
  is_landing_ = false;
}

void Flights::wait_until_empty() {
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [this] { return flights_.empty(); });
}

Result<std::unique_ptr<MetalQueue>> MetalQueue::make(id<MTLDevice> device, Loss loss) {
  Ref<id<MTLCommandQueue>> queue([device newCommandQueueWithMaxCommandBufferCount:command_buffers_of_queue]);
  if (!queue) return call_error(Errc::out_of_memory, "newCommandQueue", "no command queue", nil);
  Ref<id<MTLSharedEvent>> event([device newSharedEvent]);
  if (!event) return call_error(Errc::out_of_memory, "newSharedEvent", "no shared event", nil);
  return std::make_unique<MetalQueue>(std::move(queue), Timeline((const void*)device, std::move(event)),
                                      std::move(loss));
}

MetalQueue::MetalQueue(Ref<id<MTLCommandQueue>> queue, Timeline timeline, Loss loss)
    : queue_(std::move(queue)),
      loss_(std::move(loss)),
      flights_(std::make_shared<Flights>(loss_, std::move(timeline))) {
  const auto room = [flights = flights_](const Job&) { return flights->has_room(); };
  jobs_ = std::make_unique<HostQueue>([this](Job& job) { return start(job); }, room, flights_->timeline().device());
}

MetalQueue::~MetalQueue() {
  jobs_.reset();
  flights_->wait_until_empty();
}

/// A job that fails here is in the list too, so that it completes after those before it.
std::optional<Error> MetalQueue::start(Job& job) {
  flights_->wait_for_room();
  std::list<InFlight> one(1);
  InFlight& flight = one.front();
  flight.job = std::move(job);
  @autoreleasepool {
    id<MTLCommandBuffer> commands = nil;
    auto encoded = guarded([&] { return prepare(flight, commands); });
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
      for (const SemaphoreValue& signal : at->job.signal) {
        if (at->end) signal.semaphore.state()->promise(signal.value, at->end);
      }
      [commands commit];
    }
  }
  return std::nullopt;
}

Result<> MetalQueue::follow_promises(Flights::Flight flight) {
  for (const auto& [promise, end] : flight->promises) {
    if (auto done = flights_->follow(flight, promise); !done) return done;
  }
  return {};
}

/// Gives an encoded command buffer, or none if there is nothing to run.
Result<> MetalQueue::prepare(InFlight& flight, id<MTLCommandBuffer>& commands) {
  for (const SemaphoreValue& wait : flight.job.wait) {
    auto promise = wait.semaphore.state()->promised(wait.value, flights_->timeline().device());
    if (!promise) return promise.error();
    if (*promise) flight.promises.emplace_back(wait, std::static_pointer_cast<const JobEnd>(*promise));
  }
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
  for (const auto& [wait, end] : flight.promises) flights_->timeline().wait(commands, *end);
  if (auto done = encode(commands, executable, *flight.job.bindings, flight); !done) return done;
  const bool host_decides = static_cast<bool>(flight.checks);
  if (!flight.job.signal.empty() && !host_decides) flight.end = flights_->timeline().signal(commands);
  return {};
}

}  // namespace pianola::backend::metal
