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

std::optional<Error> MetalQueue::start(Job& job) {
  flights_->wait_for_room();
  if (auto is_there = loss_.check(); !is_there) return is_there.error();
  auto& executable = static_cast<MetalExecutable&>(*job.executable);
  std::list<InFlight> one(1);
  if (executable.program.steps.empty()) {
    one.front().job = std::move(job);
    flights_->land(flights_->add(std::move(one)), std::nullopt);
    return std::nullopt;
  }
  @autoreleasepool {
    id<MTLCommandBuffer> commands = [queue_.get() commandBufferWithUnretainedReferences];
    if (commands == nil) return call_error(Errc::out_of_memory, "commandBuffer", "no command buffer", nil);
    auto argument_buffers = executable.argument_buffers(job.bindings);
    if (!argument_buffers) return argument_buffers.error();
    one.front().argument_buffers = std::move(*argument_buffers);
    auto checks = executable.make_checks();
    if (!checks) return checks.error();
    one.front().checks = std::move(*checks);
    if (auto encoded = encode(commands, executable, *job.bindings, one.front()); !encoded) return encoded.error();
    const auto flights = flights_;
    one.front().job = std::move(job);
    const auto flight = flights->add(std::move(one));
    [commands addCompletedHandler:^(id<MTLCommandBuffer> done) {
      std::optional<Error> error;
      if ([done status] == MTLCommandBufferStatusError) {
        error = command_buffer_error([done error]);
      } else if (flight->checks) {
        error = static_cast<MetalExecutable&>(*flight->job.executable).failed_check(flight->checks.get());
      }
      flights->land(flight, std::move(error));
    }];
    [commands commit];
  }
  return std::nullopt;
}

}  // namespace pianola::backend::metal
