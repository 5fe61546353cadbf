// SPDX-License-Identifier: Apache-2.0
// How far a queue has come, as its device sees it: a shared event whose value grows with each job that signals.
#pragma once
#import <Metal/Metal.h>

#include <memory>

#include "backend/completion.hpp"
#include "backend/metal/ref.hpp"

namespace pianola::backend::metal {

/// A job's end: the shared event of its queue reaches this value.
struct JobEnd final : DeviceSignal {
  JobEnd(const void* device, Ref<id<MTLSharedEvent>> of_queue, uint64_t at)
      : DeviceSignal(device), event(std::move(of_queue)), value(at) {}
  Ref<id<MTLSharedEvent>> event;
  uint64_t value;
};

class Timeline {
 public:
  Timeline(const void* device, Ref<id<MTLSharedEvent>> event) : device_(device), event_(std::move(event)) {}
  /// Devices of one name wait for each other's work.
  const void* device() const { return device_; }

  /// Encodes that the job ends here. For one job at a time, in the order of the queue.
  std::shared_ptr<const JobEnd> signal(id<MTLCommandBuffer> commands) {
    auto end = std::make_shared<const JobEnd>(device_, event_, last_ + 1);
    [commands encodeSignalEvent:event_.get() value:end->value];
    ++last_;
    return end;
  }
  /// Encodes a wait for a job's end, unless it is one of this queue, which runs in order.
  void wait(id<MTLCommandBuffer> commands, const JobEnd& end) const {
    if (end.event.get() != event_.get()) [commands encodeWaitForEvent:end.event.get() value:end.value];
  }
  /// A job that fails may not have signalled. For completed jobs, in the order of the queue: the value may only grow.
  void reach(const JobEnd& end) const {
    if ([event_.get() signaledValue] < end.value) [event_.get() setSignaledValue:end.value];
  }

 private:
  const void* device_;
  Ref<id<MTLSharedEvent>> event_;
  uint64_t last_ = 0;
};

}  // namespace pianola::backend::metal
