// SPDX-License-Identifier: Apache-2.0
// The device: its properties, and everything that is made from it.
#include <Block.h>

#include <cstring>
#include <new>

#include "control.hpp"
#include "dispatch.h"
#include "objects.h"

using sim_metal::report;
namespace msl = sim_metal::msl;

@interface SimMetalDevice : NSObject <MTLDevice>
@end

namespace {

constexpr NSUInteger page = 4096;
NSString* const pipeline_error_domain = @"MTLComputePipelineErrorDomain";

/// Allocates and labels nothing yet; null if memory is out or the test asked for it.
SimMetalBuffer* make_buffer(SimMetalDevice* device, NSUInteger length, void* no_copy, MTLResourceOptions options) {
  if (length == 0 || length > device.maxBufferLength) {
    report("resource", "a buffer of %lu bytes", length);
    return nil;
  }
  if (sim_metal::shall_fail()) return nil;
  std::shared_ptr<sim_metal::Memory> memory;
  try {
    memory = std::make_shared<sim_metal::Memory>(length, no_copy);
  } catch (const std::bad_alloc&) {
    return nil;
  }
  memory->untracked = ((options >> 8) & 3) == MTLHazardTrackingModeUntracked;
  SimMetalBuffer* buffer = [SimMetalBuffer new];
  buffer->_device = device;
  buffer->_options = options;
  buffer->_memory = std::move(memory);
  return buffer;
}

SimMetalEvent* make_event(SimMetalDevice* device) {
  if (sim_metal::shall_fail()) return nil;
  SimMetalEvent* event = [SimMetalEvent new];
  event->_device = device;
  event->_event = std::make_shared<sim_metal::Event>();
  return event;
}

void set_error(NSError** error, NSString* domain, NSInteger code, const std::string& text) {
  if (error != nullptr) *error = sim_metal_error(domain, code, text);
}

SimMetalLibrary* make_library(SimMetalDevice* device, const std::string& source, const msl::Macros& macros,
                              NSError** error) {
  if (sim_metal::shall_fail()) {
    set_error(error, MTLLibraryErrorDomain, MTLLibraryErrorInternal, "fault asked for by the test");
    return nil;
  }
  auto compiled = msl::compile(source, macros);
  if (compiled.index() == 1) {
    set_error(error, MTLLibraryErrorDomain, MTLLibraryErrorCompileFailure, std::get<1>(compiled));
    return nil;
  }
  SimMetalLibrary* library = [SimMetalLibrary new];
  library->_device = device;
  library->_library = std::get<0>(compiled);
  return library;
}

}  // namespace

@implementation SimMetalDevice
- (NSString*)name {
  return @"Software Metal";
}
- (BOOL)hasUnifiedMemory {
  return sim_metal::settings().unified_memory;
}
- (MTLArgumentBuffersTier)argumentBuffersSupport {
  return sim_metal::settings().argument_buffers ? MTLArgumentBuffersTier2 : MTLArgumentBuffersTier1;
}
- (NSUInteger)maxBufferLength {
  return NSUInteger{1} << 36;
}
- (NSUInteger)maxThreadgroupMemoryLength {
  return sim_metal::settings().max_threadgroup_memory;
}
- (MTLSize)maxThreadsPerThreadgroup {
  const auto most = sim_metal::settings().max_threadgroup;
  return MTLSizeMake(most[0], most[1], most[2]);
}
- (BOOL)supportsFamily:(MTLGPUFamily)family {
  const bool apple = sim_metal::settings().alignment == sim_metal::AlignmentRule::apple;
  if (family == MTLGPUFamilyMetal3) return sim_metal::settings().metal3;
  if (family == MTLGPUFamilyMac2) return YES;
  return apple && family >= MTLGPUFamilyApple1 && family <= MTLGPUFamilyApple7;
}
- (id<MTLCommandQueue>)newCommandQueue {
  return [self newCommandQueueWithMaxCommandBufferCount:64];
}
- (id<MTLCommandQueue>)newCommandQueueWithMaxCommandBufferCount:(NSUInteger)count {
  if (sim_metal::shall_fail()) return nil;
  SimMetalQueue* queue = [SimMetalQueue new];
  queue->_device = self;
  queue->_queue = std::make_unique<sim_metal::Queue>();
  queue->_open_buffers = std::make_shared<SimMetalOpenBuffers>();
  queue->_open_buffers->most = static_cast<long>(count);
  return queue;
}
- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length options:(MTLResourceOptions)options {
  return make_buffer(self, length, nullptr, options);
}
- (id<MTLBuffer>)newBufferWithBytes:(const void*)bytes length:(NSUInteger)length options:(MTLResourceOptions)options {
  SimMetalBuffer* buffer = make_buffer(self, length, nullptr, options);
  if (buffer == nil) return nil;
  std::memcpy(buffer->_memory->base(), bytes, length);
  sim_metal::with_counts([](sim_metal::Counts& c, uint64_t by) { c.bytes_staged += by; }, length);
  return buffer;
}
- (id<MTLBuffer>)newBufferWithBytesNoCopy:(void*)bytes
                                   length:(NSUInteger)length
                                  options:(MTLResourceOptions)options
                              deallocator:(void (^)(void* pointer, NSUInteger length))deallocator {
  if (reinterpret_cast<uintptr_t>(bytes) % page != 0 || length % page != 0) {
    report("resource", "newBufferWithBytesNoCopy: pointer and length must be multiples of the page size");
    return nil;
  }
  SimMetalBuffer* buffer = make_buffer(self, length, bytes, options);
  if (buffer == nil || deallocator == nil) return buffer;
  auto copy = Block_copy(deallocator);
  buffer->_memory->on_free = [=] {
    copy(bytes, length);
    Block_release(copy);
  };
  return buffer;
}
- (id<MTLLibrary>)newLibraryWithSource:(NSString*)source options:(MTLCompileOptions*)options error:(NSError**)error {
  msl::Macros macros;
  for (NSString* name in options.preprocessorMacros) {
    NSString* value = [[options.preprocessorMacros objectForKey:name] description];
    macros[[name UTF8String]] = [value UTF8String];
  }
  return make_library(self, [source UTF8String], macros, error);
}
/// A metallib of the software Metal is the four bytes that real ones begin with, then source text.
- (id<MTLLibrary>)newLibraryWithData:(dispatch_data_t)data error:(NSError**)error {
  const std::string& bytes = ((SimDispatchData*)data)->_bytes;
  if (!bytes.starts_with("MTLB")) {
    set_error(error, MTLLibraryErrorDomain, MTLLibraryErrorInternal, "Invalid library file");
    return nil;
  }
  return make_library(self, bytes.substr(4), {}, error);
}
- (id<MTLComputePipelineState>)newComputePipelineStateWithFunction:(id<MTLFunction>)function error:(NSError**)error {
  if (function == nil) report("compute", "newComputePipelineStateWithFunction: nil");
  if (function == nil || sim_metal::shall_fail()) {
    set_error(error, pipeline_error_domain, 3, "fault asked for by the test");
    return nil;
  }
  auto* from = (SimMetalFunction*)function;
  const size_t threadgroup_bytes = msl::static_threadgroup_bytes(*from->_kernel);
  if (threadgroup_bytes > self.maxThreadgroupMemoryLength) {
    set_error(error, pipeline_error_domain, 3,
              "Threadgroup memory size (" + std::to_string(threadgroup_bytes) + ") exceeds what the device has");
    return nil;
  }
  SimMetalPipeline* pipeline = [SimMetalPipeline new];
  pipeline->_device = self;
  uint64_t max_threads = sim_metal::settings().max_threads_per_pipeline;
  if (from->_kernel->max_threads > 0) max_threads = std::min(max_threads, (uint64_t)from->_kernel->max_threads);
  pipeline->_pipeline = std::make_shared<sim_metal::Pipeline>(from->_library, from->_kernel, max_threads);
  return pipeline;
}
- (id<MTLEvent>)newEvent {
  return make_event(self);
}
- (id<MTLSharedEvent>)newSharedEvent {
  return make_event(self);
}
- (id<MTLFence>)newFence {
  if (sim_metal::shall_fail()) return nil;
  SimMetalFence* fence = [SimMetalFence new];
  fence->_device = self;
  fence->_fence = std::make_shared<sim_metal::Fence>();
  return fence;
}
@end

id<MTLDevice> MTLCreateSystemDefaultDevice(void) {
  static SimMetalDevice* const device = [SimMetalDevice new];
  return sim_metal::settings().has_device ? [device retain] : nil;
}
NSArray* MTLCopyAllDevices(void) {
  id<MTLDevice> device = [MTLCreateSystemDefaultDevice() autorelease];
  return device == nil ? [NSArray new] : [[NSArray alloc] initWithObjects:device, nil];
}
