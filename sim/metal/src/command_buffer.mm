// SPDX-License-Identifier: Apache-2.0
// Command buffers and queues: what may be called when, and completion.
#include <Block.h>

#include "control.hpp"
#include "objects.h"

using sim_metal::Command;
using sim_metal::Counts;
using sim_metal::report;

@implementation SimMetalCommandBuffer
- (void)dealloc {
  if (!_done) --_open_buffers->count;
  for (auto block : _scheduled_handlers) Block_release(block);
  for (auto block : _completed_handlers) Block_release(block);
  [_error release];
  [_owner release];
  [super dealloc];
}
- (id<MTLCommandQueue>)commandQueue {
  return _owner;
}
- (BOOL)retainedReferences {
  return _buffer->retained;
}
- (MTLCommandBufferStatus)status {
  const NSUInteger status = _status;
  if (status >= MTLCommandBufferStatusCompleted) sim_metal::host_learns(_buffer->known);
  return (MTLCommandBufferStatus)status;
}
- (NSError*)error {
  return _error;
}
- (bool)isRecording:(const char*)what {
  if (_status >= MTLCommandBufferStatusCommitted) {
    report("command buffer", "%s after commit", what);
    return false;
  }
  if (_open != nil) {
    report("command buffer", "%s while an encoder is still open", what);
    return false;
  }
  return true;
}

- (void)open:(SimMetalEncoder*)encoder blit:(bool)blit concurrent:(bool)concurrent {
  encoder->_encoder = std::make_shared<sim_metal::Encoder>();
  encoder->_encoder->queue = _owner->_queue->id();
  encoder->_encoder->blit = blit;
  encoder->_encoder->concurrent = concurrent;
  encoder->_parent = [self retain];
  encoder->_device = _device;
  encoder->_null = _null;
  _open = encoder;
  const bool is_switch = _has_encoder && _last_was_blit != blit;
  _has_encoder = true;
  _last_was_blit = blit;
  sim_metal::with_counts(
      [](Counts& c, uint64_t bits) {
        ++((bits & 1) != 0 ? c.blit_encoders : c.compute_encoders);
        if ((bits & 2) != 0) ++c.switches;
        if ((bits & 4) != 0) ++c.concurrent_encoders;
      },
      (blit ? 1U : 0U) | (is_switch ? 2U : 0U) | (concurrent ? 4U : 0U));
}
- (id<MTLBlitCommandEncoder>)blitCommandEncoder {
  if (![self isRecording:"blitCommandEncoder"] || sim_metal::shall_fail()) return nil;
  SimMetalBlitEncoder* encoder = [[SimMetalBlitEncoder new] autorelease];
  [self open:encoder blit:true concurrent:false];
  return encoder;
}
- (id<MTLComputeCommandEncoder>)computeCommandEncoder {
  return [self computeCommandEncoderWithDispatchType:MTLDispatchTypeSerial];
}
- (id<MTLComputeCommandEncoder>)computeCommandEncoderWithDispatchType:(MTLDispatchType)type {
  if (![self isRecording:"computeCommandEncoder"] || sim_metal::shall_fail()) return nil;
  SimMetalComputeEncoder* encoder = [[SimMetalComputeEncoder new] autorelease];
  [self open:encoder blit:false concurrent:type == MTLDispatchTypeConcurrent];
  return encoder;
}

- (void)add:(Command::Kind)kind event:(id<MTLEvent>)event value:(uint64_t)value {
  if (event == nil) return report("event", "nil event");
  sim_metal::with_counts([](Counts& c, uint64_t) { ++c.events; }, 0);
  auto& command = _buffer->commands.emplace_back();
  command.kind = kind;
  command.event = {((SimMetalEvent*)event)->_event, _buffer->retained};
  command.event_value = value;
}
- (void)encodeSignalEvent:(id<MTLEvent>)event value:(uint64_t)value {
  if ([self isRecording:"encodeSignalEvent:"]) [self add:Command::Kind::signal event:event value:value];
}
- (void)encodeWaitForEvent:(id<MTLEvent>)event value:(uint64_t)value {
  if ([self isRecording:"encodeWaitForEvent:"]) [self add:Command::Kind::wait event:event value:value];
}
- (void)addScheduledHandler:(MTLCommandBufferHandler)block {
  if (_status >= MTLCommandBufferStatusCommitted) return report("command buffer", "addScheduledHandler: after commit");
  _scheduled_handlers.push_back(Block_copy(block));
}
- (void)addCompletedHandler:(MTLCommandBufferHandler)block {
  if (_status >= MTLCommandBufferStatusCommitted) return report("command buffer", "addCompletedHandler: after commit");
  _completed_handlers.push_back(Block_copy(block));
}
- (void)enqueue {
  if (_status == MTLCommandBufferStatusNotEnqueued) _status = MTLCommandBufferStatusEnqueued;
}

- (void)scheduled {
  @autoreleasepool {
    _status = MTLCommandBufferStatusScheduled;
    for (auto block : _scheduled_handlers) {
      block(self);
      Block_release(block);
    }
    _scheduled_handlers.clear();
  }
  const std::lock_guard lock(_mutex);
  _wake.notify_all();
}
- (void)completed {
  @autoreleasepool {
    const bool failed = !_buffer->error.empty();
    if (failed) _error = [sim_metal_error(MTLCommandBufferErrorDomain, _buffer->error_code, _buffer->error) retain];
    _status = failed ? MTLCommandBufferStatusError : MTLCommandBufferStatusCompleted;
    _buffer->commands.clear();
    --_open_buffers->count;
    if (!_completed_handlers.empty()) sim_metal::host_learns(_buffer->known);
    for (auto block : _completed_handlers) {
      block(self);
      Block_release(block);
    }
    _completed_handlers.clear();
  }
  const std::lock_guard lock(_mutex);
  _done = true;
  _wake.notify_all();
}
- (void)commit {
  if (![self isRecording:"commit"]) return;
  _status = MTLCommandBufferStatusCommitted;
  sim_metal::with_counts([](Counts& c, uint64_t) { ++c.command_buffers; }, 0);
  [self retain];  // until completed
  _buffer->scheduled = [self] { [self scheduled]; };
  _buffer->completed = [self] {
    [self completed];
    [self release];
  };
  _owner->_queue->commit(_buffer);
}
- (void)waitUntilScheduled {
  if (_status < MTLCommandBufferStatusCommitted) return report("command buffer", "waitUntilScheduled before commit");
  std::unique_lock lock(_mutex);
  _wake.wait(lock, [self] { return _status >= MTLCommandBufferStatusScheduled; });
}
- (void)waitUntilCompleted {
  if (_status < MTLCommandBufferStatusCommitted) return report("command buffer", "waitUntilCompleted before commit");
  std::unique_lock lock(_mutex);
  _wake.wait(lock, [self] { return _done; });
  sim_metal::host_learns(_buffer->known);
}
@end

@implementation SimMetalQueue
- (SimMetalCommandBuffer*)make:(bool)retained {
  if (sim_metal::shall_fail()) return nil;
  SimMetalCommandBuffer* buffer = [[SimMetalCommandBuffer new] autorelease];
  buffer->_owner = [self retain];
  buffer->_device = _device;
  buffer->_buffer = std::make_shared<sim_metal::CommandBuffer>();
  buffer->_buffer->retained = retained;
  buffer->_null = !sim_metal::settings().execute;
  buffer->_open_buffers = _open_buffers;
  if (++_open_buffers->count > _open_buffers->most) {
    report("queue", "more than %ld command buffers at once: the call would block", _open_buffers->most);
  }
  return buffer;
}
- (id<MTLCommandBuffer>)commandBuffer {
  return [self make:true];
}
- (id<MTLCommandBuffer>)commandBufferWithUnretainedReferences {
  return [self make:false];
}
- (id<MTLCommandBuffer>)commandBufferWithDescriptor:(MTLCommandBufferDescriptor*)descriptor {
  return [self make:descriptor.retainedReferences];
}
@end
