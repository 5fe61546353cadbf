// SPDX-License-Identifier: Apache-2.0
// Queues: jobs are encoded once their waits are met and completed in order by Metal's completion handlers.
// Waits are held back on the host: a wait on the device could not be taken back if what it waits for fails.
#include "backend/metal/convert.hpp"
#include "backend/metal/device.hpp"
#include "base/guarded.hpp"

namespace pianola::backend::metal {
namespace {

/// Fewer than the Metal queue takes, so that making a command buffer never blocks.
constexpr size_t max_in_flight = 128;

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

std::list<InFlight>::iterator Flights::add(std::list<InFlight> flight) noexcept {
  const auto at = flight.begin();
  const std::lock_guard lock(mutex_);
  flights_.splice(flights_.end(), flight);
  return at;
}

bool Flights::has_room() {
  const std::lock_guard lock(mutex_);
  return flights_.size() < max_in_flight;
}

void Flights::wait_for_room() {
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [this] { return flights_.size() < max_in_flight; });
}

void Flights::land(std::list<InFlight>::iterator flight, std::optional<Error> error) noexcept {
  if (error) loss_.note(error->code);
  std::unique_lock lock(mutex_);
  flight->is_over = true;
  flight->error = std::move(error);
  if (is_landing_) return;  // another thread completes it in its turn
  is_landing_ = true;
  while (!flights_.empty() && flights_.front().is_over) {
    std::list<InFlight> first;
    first.splice(first.begin(), flights_, flights_.begin());
    wake_.notify_all();
    lock.unlock();
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

MetalQueue::MetalQueue(Ref<id<MTLCommandQueue>> queue, Loss loss) : queue_(std::move(queue)), loss_(std::move(loss)) {
  const auto room = [flights = flights_](const Job&) { return flights->has_room(); };
  jobs_ = std::make_unique<HostQueue>([this](Job& job) { return start(job); }, room);
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
  }
  return std::nullopt;
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
  return encode(commands, executable, *flight.job.bindings, flight);
}

}  // namespace pianola::backend::metal
