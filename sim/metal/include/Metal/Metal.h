// SPDX-License-Identifier: Apache-2.0
// The part of Metal's compute API that the Metal backend uses, for machines without Apple's SDK. Names,
// signatures and values are those of the public API (scripts/check-metal-selectors compares them with a
// real SDK); behaviour is in sim/metal/src.
#pragma once
#import <Metal/MTLTypes.h>
#include <dispatch/dispatch.h>

@class MTLCommandBufferDescriptor, MTLCompileOptions, MTLSharedEventListener;
@protocol MTLArgumentEncoder
, MTLBlitCommandEncoder, MTLBuffer, MTLCommandBuffer, MTLCommandQueue, MTLComputeCommandEncoder,
    MTLComputePipelineState, MTLDevice, MTLEvent, MTLFence, MTLFunction, MTLLibrary, MTLSharedEvent;

typedef void (^MTLCommandBufferHandler)(id<MTLCommandBuffer>);
typedef void (^MTLSharedEventNotificationBlock)(id<MTLSharedEvent>, uint64_t value);

// Resources and synchronisation
@protocol MTLResource <NSObject>
@property(copy, atomic) NSString* label;
@property(readonly) id<MTLDevice> device;
@property(readonly) MTLStorageMode storageMode;
@property(readonly) MTLHazardTrackingMode hazardTrackingMode;
@property(readonly) MTLResourceOptions resourceOptions;
@property(readonly) NSUInteger allocatedSize;
@end
@protocol MTLBuffer <MTLResource>
@property(readonly) NSUInteger length;
@property(readonly) uint64_t gpuAddress;
- (void*)contents;
#if TARGET_OS_OSX
- (void)didModifyRange:(NSRange)range;
#endif
@end
@protocol MTLFence <NSObject>
@property(copy, atomic) NSString* label;
@property(readonly) id<MTLDevice> device;
@end
@protocol MTLEvent <NSObject>
@property(copy, atomic) NSString* label;
@property(readonly) id<MTLDevice> device;
@end
@protocol MTLSharedEvent <MTLEvent>
@property(readwrite) uint64_t signaledValue;
- (void)notifyListener:(MTLSharedEventListener*)listener
               atValue:(uint64_t)value
                 block:(MTLSharedEventNotificationBlock)block;
@end
@interface MTLSharedEventListener : NSObject
@end

// Libraries, functions, pipelines
@interface MTLCompileOptions : NSObject {
  NSDictionary* _preprocessorMacros;
  BOOL _fastMathEnabled;
  MTLLanguageVersion _languageVersion;
}
@property(copy, nonatomic) NSDictionary* preprocessorMacros;
@property(nonatomic) BOOL fastMathEnabled __attribute__((deprecated));
@property(nonatomic) MTLLanguageVersion languageVersion;
@end
@protocol MTLLibrary <NSObject>
@property(copy, atomic) NSString* label;
@property(readonly) id<MTLDevice> device;
@property(readonly) NSArray* functionNames;
- (id<MTLFunction>)newFunctionWithName:(NSString*)name;
@end
@protocol MTLFunction <NSObject>
@property(copy, atomic) NSString* label;
@property(readonly) id<MTLDevice> device;
@property(readonly) MTLFunctionType functionType;
@property(readonly) NSString* name;
- (id<MTLArgumentEncoder>)newArgumentEncoderWithBufferIndex:(NSUInteger)index;
@end
@protocol MTLComputePipelineState <NSObject>
@property(readonly) NSString* label;
@property(readonly) id<MTLDevice> device;
@property(readonly) NSUInteger maxTotalThreadsPerThreadgroup;
@property(readonly) NSUInteger threadExecutionWidth;
@property(readonly) NSUInteger staticThreadgroupMemoryLength;
@end
@protocol MTLArgumentEncoder <NSObject>
@property(copy, atomic) NSString* label;
@property(readonly) id<MTLDevice> device;
@property(readonly) NSUInteger encodedLength;
@property(readonly) NSUInteger alignment;
- (void)setArgumentBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset;
- (void)setBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset atIndex:(NSUInteger)index;
- (void)setBuffers:(const id<MTLBuffer>[])buffers offsets:(const NSUInteger[])offsets withRange:(NSRange)range;
- (void*)constantDataAtIndex:(NSUInteger)index;
@end

// Encoders
@protocol MTLCommandEncoder <NSObject>
@property(copy, atomic) NSString* label;
@property(readonly) id<MTLDevice> device;
- (void)endEncoding;
- (void)insertDebugSignpost:(NSString*)text;
- (void)pushDebugGroup:(NSString*)text;
- (void)popDebugGroup;
@end
@protocol MTLBlitCommandEncoder <MTLCommandEncoder>
- (void)fillBuffer:(id<MTLBuffer>)buffer range:(NSRange)range value:(uint8_t)value;
- (void)copyFromBuffer:(id<MTLBuffer>)source
          sourceOffset:(NSUInteger)sourceOffset
              toBuffer:(id<MTLBuffer>)destination
     destinationOffset:(NSUInteger)destinationOffset
                  size:(NSUInteger)size;
#if TARGET_OS_OSX
- (void)synchronizeResource:(id<MTLResource>)resource;
#endif
- (void)updateFence:(id<MTLFence>)fence;
- (void)waitForFence:(id<MTLFence>)fence;
@end
@protocol MTLComputeCommandEncoder <MTLCommandEncoder>
@property(readonly) MTLDispatchType dispatchType;
- (void)setComputePipelineState:(id<MTLComputePipelineState>)state;
- (void)setBytes:(const void*)bytes length:(NSUInteger)length atIndex:(NSUInteger)index;
- (void)setBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset atIndex:(NSUInteger)index;
- (void)setBufferOffset:(NSUInteger)offset atIndex:(NSUInteger)index;
- (void)setThreadgroupMemoryLength:(NSUInteger)length atIndex:(NSUInteger)index;
- (void)useResource:(id<MTLResource>)resource usage:(MTLResourceUsage)usage;
- (void)useResources:(const id<MTLResource>[])resources count:(NSUInteger)count usage:(MTLResourceUsage)usage;
- (void)dispatchThreadgroups:(MTLSize)groups threadsPerThreadgroup:(MTLSize)threads;
- (void)dispatchThreads:(MTLSize)total threadsPerThreadgroup:(MTLSize)threads;
- (void)dispatchThreadgroupsWithIndirectBuffer:(id<MTLBuffer>)buffer
                          indirectBufferOffset:(NSUInteger)offset
                         threadsPerThreadgroup:(MTLSize)threads;
- (void)memoryBarrierWithScope:(MTLBarrierScope)scope;
- (void)memoryBarrierWithResources:(const id<MTLResource>[])resources count:(NSUInteger)count;
- (void)updateFence:(id<MTLFence>)fence;
- (void)waitForFence:(id<MTLFence>)fence;
@end

// Submission
@interface MTLCommandBufferDescriptor : NSObject {
  BOOL _retainedReferences;
  MTLCommandBufferErrorOption _errorOptions;
}
@property(nonatomic) BOOL retainedReferences;
@property(nonatomic) MTLCommandBufferErrorOption errorOptions;
@end
@protocol MTLCommandBuffer <NSObject>
@property(copy, atomic) NSString* label;
@property(readonly) id<MTLDevice> device;
@property(readonly) id<MTLCommandQueue> commandQueue;
@property(readonly) BOOL retainedReferences;
@property(readonly) MTLCommandBufferStatus status;
@property(readonly) NSError* error;
- (id<MTLBlitCommandEncoder>)blitCommandEncoder;
- (id<MTLComputeCommandEncoder>)computeCommandEncoder;
- (id<MTLComputeCommandEncoder>)computeCommandEncoderWithDispatchType:(MTLDispatchType)type;
- (void)encodeSignalEvent:(id<MTLEvent>)event value:(uint64_t)value;
- (void)encodeWaitForEvent:(id<MTLEvent>)event value:(uint64_t)value;
- (void)addScheduledHandler:(MTLCommandBufferHandler)block;
- (void)addCompletedHandler:(MTLCommandBufferHandler)block;
- (void)enqueue;
- (void)commit;
- (void)waitUntilScheduled;
- (void)waitUntilCompleted;
@end
@protocol MTLCommandQueue <NSObject>
@property(copy, atomic) NSString* label;
@property(readonly) id<MTLDevice> device;
- (id<MTLCommandBuffer>)commandBuffer;
- (id<MTLCommandBuffer>)commandBufferWithUnretainedReferences;
- (id<MTLCommandBuffer>)commandBufferWithDescriptor:(MTLCommandBufferDescriptor*)descriptor;
@end
@protocol MTLDevice <NSObject>
@property(readonly) NSString* name;
@property(readonly) BOOL hasUnifiedMemory;
@property(readonly) MTLArgumentBuffersTier argumentBuffersSupport;
@property(readonly) NSUInteger maxBufferLength;
@property(readonly) NSUInteger maxThreadgroupMemoryLength;
@property(readonly) MTLSize maxThreadsPerThreadgroup;
- (BOOL)supportsFamily:(MTLGPUFamily)family;
- (id<MTLCommandQueue>)newCommandQueue;
- (id<MTLCommandQueue>)newCommandQueueWithMaxCommandBufferCount:(NSUInteger)count;
- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length options:(MTLResourceOptions)options;
- (id<MTLBuffer>)newBufferWithBytes:(const void*)bytes length:(NSUInteger)length options:(MTLResourceOptions)options;
- (id<MTLBuffer>)newBufferWithBytesNoCopy:(void*)bytes
                                   length:(NSUInteger)length
                                  options:(MTLResourceOptions)options
                              deallocator:(void (^)(void* pointer, NSUInteger length))deallocator;
- (id<MTLLibrary>)newLibraryWithSource:(NSString*)source options:(MTLCompileOptions*)options error:(NSError**)error;
- (id<MTLLibrary>)newLibraryWithData:(dispatch_data_t)data error:(NSError**)error;
- (id<MTLComputePipelineState>)newComputePipelineStateWithFunction:(id<MTLFunction>)function error:(NSError**)error;
- (id<MTLEvent>)newEvent;
- (id<MTLSharedEvent>)newSharedEvent;
- (id<MTLFence>)newFence;
@end

MTL_EXTERN id<MTLDevice> MTLCreateSystemDefaultDevice(void);
#if TARGET_OS_OSX
MTL_EXTERN NSArray* MTLCopyAllDevices(void);
#endif
