// SPDX-License-Identifier: Apache-2.0
// Pianola beside code that uses Metal already. Objective-C objects are passed as void*: a bridged id<MTL...>.
// Only in builds with Metal.
#pragma once

#include <cstdint>
#include <memory>

#include "pianola/buffer.hpp"
#include "pianola/device.hpp"
#include "pianola/queue.hpp"

namespace pianola::interop::metal {

/// The id<MTLDevice>, not retained; null if the device is of another backend.
void* native_device(const Device& device);
/// The id<MTLCommandQueue> that the queue commits to, not retained; null if it is of another backend. Work
/// committed to it directly runs between submissions, in the order of commits.
void* native_queue(const Queue& queue);
/// The id<MTLBuffer>, not retained; null if the buffer is of another backend.
void* native_buffer(const Buffer& buffer);

/// A buffer over an id<MTLBuffer> of this device, which is retained. It must be hazard-tracked.
/// Errors: invalid_argument (null, a device of another backend, a buffer of another device), unsupported (an
/// untracked buffer, or one over memory of the host that another buffer of the device has).
Result<Buffer> import_buffer(const Device& device, void* native_buffer, std::shared_ptr<void> owner = {});

/// The semaphore reaches `value` once the id<MTLSharedEvent> has reached `event_value`.
/// Errors: invalid_argument (null), out_of_memory.
Result<> signal_when(const Semaphore& semaphore, uint64_t value, void* shared_event, uint64_t event_value);
/// The id<MTLSharedEvent> reaches `event_value` once the semaphore has reached `value`. If the semaphore fails, the
/// event is never signalled. Errors: invalid_argument (null), out_of_memory.
Result<> signal_event_when(void* shared_event, uint64_t event_value, const Semaphore& semaphore, uint64_t value);

}  // namespace pianola::interop::metal
