// SPDX-License-Identifier: Apache-2.0
// The Objective-C classes behind Metal's protocols. Each is a thin face over the C++ parts of the device.
#pragma once
#import <Metal/Metal.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "commands.hpp"
#include "queue.hpp"

/// Counts itself; has a label and a device.
@interface SimMetalObject : NSObject {
 @public
  NSString* _label;
  id<MTLDevice> _device;  ///< not retained: the device lives as long as the process
}
@property(copy, atomic) NSString* label;
@property(readonly) id<MTLDevice> device;
@end

@interface SimMetalBuffer : SimMetalObject <MTLBuffer> {
 @public
  std::shared_ptr<sim_metal::Memory> _memory;
  MTLResourceOptions _options;
}
@end

@interface SimMetalEvent : SimMetalObject <MTLSharedEvent> {
 @public
  std::shared_ptr<sim_metal::Event> _event;
}
@end

@interface SimMetalFence : SimMetalObject <MTLFence> {
 @public
  std::shared_ptr<sim_metal::Fence> _fence;
}
@end

@interface SimMetalLibrary : SimMetalObject <MTLLibrary> {
 @public
  std::shared_ptr<sim_metal::msl::Library> _library;
}
@end

@interface SimMetalFunction : SimMetalObject <MTLFunction> {
 @public
  std::shared_ptr<sim_metal::msl::Library> _library;
  const sim_metal::msl::Kernel* _kernel;
}
@end

@interface SimMetalPipeline : SimMetalObject <MTLComputePipelineState> {
 @public
  std::shared_ptr<sim_metal::Pipeline> _pipeline;
}
@end

@class SimMetalCommandBuffer, SimMetalEncoder;

/// How many command buffers of a queue are not over; shared with those that outlive it.
struct SimMetalOpenBuffers {
  std::atomic<long> count{0};
  long most = 64;
};

@interface SimMetalQueue : SimMetalObject <MTLCommandQueue> {
 @public
  std::unique_ptr<sim_metal::Queue> _queue;
  std::shared_ptr<SimMetalOpenBuffers> _open_buffers;
}
@end

@interface SimMetalCommandBuffer : SimMetalObject <MTLCommandBuffer> {
 @public
  SimMetalQueue* _owner;
  std::shared_ptr<sim_metal::CommandBuffer> _buffer;
  SimMetalEncoder* _open;
  std::shared_ptr<SimMetalOpenBuffers> _open_buffers;
  std::atomic<NSUInteger> _status;
  std::vector<MTLCommandBufferHandler> _scheduled_handlers, _completed_handlers;
  std::mutex _mutex;
  std::condition_variable _wake;
  NSError* _error;
  bool _done, _null, _last_was_blit, _has_encoder;
}
@end

/// What blit and compute encoders share.
@interface SimMetalEncoder : SimMetalObject <MTLCommandEncoder> {
 @public
  SimMetalCommandBuffer* _parent;
  std::shared_ptr<sim_metal::Encoder> _encoder;
  bool _ended, _null;
  int _index, _groups;
}
- (bool)isOpen:(const char*)what;
- (sim_metal::Use)use:(id<MTLResource>)resource read:(bool)read write:(bool)write;
- (sim_metal::Command&)add:(sim_metal::Command::Kind)kind;
- (void)updateFence:(id<MTLFence>)fence;
- (void)waitForFence:(id<MTLFence>)fence;
@end

@interface SimMetalBlitEncoder : SimMetalEncoder <MTLBlitCommandEncoder>
@end

@interface SimMetalComputeEncoder : SimMetalEncoder <MTLComputeCommandEncoder> {
 @public
  sim_metal::Held<sim_metal::Pipeline> _pipeline;
  std::shared_ptr<sim_metal::DispatchState> _state;    ///< copied before a change once a dispatch has it
  std::shared_ptr<sim_metal::BarrierState> _barriers;  ///< likewise
}
@end

/// An error with this text as its description.
NSError* sim_metal_error(NSString* domain, NSInteger code, const std::string& text);
