// SPDX-License-Identifier: Apache-2.0
// How one job tells others of its device that it has ended: a shared event that reaches a value.
#pragma once
#import <Metal/Metal.h>

#include <utility>

#include "backend/completion.hpp"
#include "backend/metal/ref.hpp"

namespace pianola::backend::metal {

struct JobEnd final : DeviceSignal {
  JobEnd(id<MTLDevice> device, const void* of_queue, Ref<id<MTLSharedEvent>> of_job, uint64_t at)
      : DeviceSignal((const void*)device), queue(of_queue), event(std::move(of_job)), value(at) {}
  /// For a job that has completed and may not have signalled, having failed.
  void reach() const {
    if ([event.get() signaledValue] < value) [event.get() setSignaledValue:value];
  }
  const void* queue;              ///< tells queues apart
  Ref<id<MTLSharedEvent>> event;  ///< of this job alone until it has completed: jobs of a queue may end in any order
  uint64_t value;
};

}  // namespace pianola::backend::metal
