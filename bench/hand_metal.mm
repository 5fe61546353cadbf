// SPDX-License-Identifier: Apache-2.0
#include "hand_metal.hpp"

#import <Metal/Metal.h>

#include <array>

#include "pianola/interop/metal.hpp"
#if __has_include("sim_metal.hpp")
#include "sim_metal.hpp"
#endif

namespace bench {
namespace {

constexpr uint64_t piece = 1024;
constexpr uint32_t per_command_buffer = 512;  ///< so that the device starts early
constexpr NSUInteger constants_index = 30;

id<MTLComputePipelineState> make_pipeline(id<MTLDevice> device, id<MTLFunction> function) {
  return [device newComputePipelineStateWithFunction:function error:nullptr];
}

}  // namespace

struct HandMetal::Objects {
  id<MTLCommandQueue> queue = nil;
  id<MTLLibrary> library = nil;
  id<MTLFunction> sum_function = nil;
  id<MTLComputePipelineState> scale = nil, combine = nil, sum = nil;
  std::array<id<MTLBuffer>, metal_buffers> buffers{};  ///< Pianola's
  std::array<id<MTLBuffer>, 8> arguments{};            ///< one a dispatch between two barriers
  id<MTLCommandBuffer> last = nil;

  ~Objects();
  bool make(id<MTLDevice> device, std::string_view source);
  bool make_arguments(id<MTLDevice> device);
  /// The commands from `first` on that one command buffer takes.
  void encode(MetalList list, id<MTLCommandBuffer> commands, uint32_t first) const;
  void dispatches(id<MTLComputeCommandEncoder> encoder, uint32_t first) const;
  void pipelines(id<MTLComputeCommandEncoder> encoder, uint32_t first) const;
  void transfers(id<MTLBlitCommandEncoder> encoder, uint32_t first) const;
  void switches(id<MTLCommandBuffer> commands) const;
  void sums(id<MTLComputeCommandEncoder> encoder) const;
};

HandMetal::Objects::~Objects() {
  for (id<MTLBuffer> buffer : arguments) [buffer release];
  [last release];
  [scale release];
  [combine release];
  [sum release];
  [sum_function release];
  [library release];
  [queue release];
}

bool HandMetal::Objects::make(id<MTLDevice> device, std::string_view source) {
  queue = [device newCommandQueue];
  NSString* text = [[[NSString alloc] initWithBytes:source.data() length:source.size()
                                           encoding:NSUTF8StringEncoding] autorelease];
  library = [device newLibraryWithSource:text options:nil error:nullptr];
  scale = make_pipeline(device, [[library newFunctionWithName:@"scale"] autorelease]);
  combine = make_pipeline(device, [[library newFunctionWithName:@"combine"] autorelease]);
  sum_function = [library newFunctionWithName:@"sum_32"];
  sum = make_pipeline(device, sum_function);
  return queue != nil && scale != nil && combine != nil && sum != nil && make_arguments(device);
}

bool HandMetal::Objects::make_arguments(id<MTLDevice> device) {
  id<MTLArgumentEncoder> encoder = [[sum_function newArgumentEncoderWithBufferIndex:0] autorelease];
  for (size_t k = 0; k < arguments.size(); ++k) {
    arguments[k] = [device newBufferWithLength:[encoder encodedLength] options:MTLResourceStorageModeShared];
    if (arguments[k] == nil) return false;
    [encoder setArgumentBuffer:arguments[k] offset:0];
    for (size_t i = 0; i < 32; ++i) [encoder setBuffer:buffers[i] offset:0 atIndex:i];
    [encoder setBuffer:buffers[32 + k] offset:0 atIndex:32];
  }
  return true;
}

void HandMetal::Objects::dispatches(id<MTLComputeCommandEncoder> encoder, uint32_t first) const {
  [encoder setComputePipelineState:scale];
  [encoder setBuffer:buffers[0] offset:0 atIndex:0];
  for (uint32_t i = first; i < first + per_command_buffer; ++i) {
    if (i != first && i % 32 == 0) [encoder memoryBarrierWithResources:buffers.data() count:1];
    if (i != first) [encoder setBufferOffset:i % 32 * piece atIndex:0];
    const std::array<uint32_t, 4> constants = {i};
    [encoder setBytes:constants.data() length:sizeof constants atIndex:constants_index];
    [encoder dispatchThreadgroups:MTLSizeMake(4, 1, 1) threadsPerThreadgroup:MTLSizeMake(64, 1, 1)];
  }
}

void HandMetal::Objects::pipelines(id<MTLComputeCommandEncoder> encoder, uint32_t first) const {
  for (uint32_t wave = first / 8; wave < (first + per_command_buffer) / 8; ++wave) {
    const uint32_t from = wave / 2 % 2 * 8, to = 8 - from;
    if (wave != first / 8) {
      const uint32_t written = wave % 2 == 1 ? to : from;
      [encoder memoryBarrierWithResources:buffers.data() + written count:8];
    }
    [encoder setComputePipelineState:wave % 2 == 0 ? combine : scale];
    for (uint32_t k = 0; k < 8; ++k) {
      std::array<uint32_t, 4> constants = {k, 64};
      if (wave % 2 == 0) {
        [encoder setBuffer:buffers[from + k] offset:0 atIndex:0];
        [encoder setBuffer:buffers[from + (k + 1) % 8] offset:0 atIndex:1];
        [encoder setBuffer:buffers[to + k] offset:0 atIndex:2];
      } else {
        constants[1] = 0;
        [encoder setBuffer:buffers[to + k] offset:0 atIndex:0];
      }
      [encoder setBytes:constants.data() length:sizeof constants atIndex:constants_index];
      [encoder dispatchThreadgroups:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(64, 1, 1)];
    }
  }
}

void HandMetal::Objects::transfers(id<MTLBlitCommandEncoder> encoder, uint32_t first) const {
  for (uint32_t i = first / 2; i < (first + per_command_buffer) / 2; ++i) {
    const uint64_t at = i % 32 * piece;
    [encoder fillBuffer:buffers[0] range:NSMakeRange(at, piece) value:static_cast<uint8_t>(i)];
    [encoder copyFromBuffer:buffers[1] sourceOffset:at toBuffer:buffers[2] destinationOffset:at size:piece];
  }
}

void HandMetal::Objects::switches(id<MTLCommandBuffer> commands) const {
  for (uint32_t round = 0; round < per_command_buffer / 64; ++round) {
    id<MTLComputeCommandEncoder> compute = [commands computeCommandEncoderWithDispatchType:MTLDispatchTypeConcurrent];
    [compute setComputePipelineState:scale];
    for (uint32_t i = 0; i < 32; ++i) {
      const std::array<uint32_t, 4> constants = {i};
      [compute setBuffer:buffers[i] offset:0 atIndex:0];
      [compute setBytes:constants.data() length:sizeof constants atIndex:constants_index];
      [compute dispatchThreadgroups:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(64, 1, 1)];
    }
    [compute endEncoding];
    id<MTLBlitCommandEncoder> blit = [commands blitCommandEncoder];
    for (uint32_t i = 0; i < 32; ++i) {
      [blit copyFromBuffer:buffers[i]
               sourceOffset:0
                   toBuffer:buffers[(i + 1) % 32]
          destinationOffset:metal_buffer_size / 2
                       size:metal_buffer_size / 2];
    }
    [blit endEncoding];
  }
}

void HandMetal::Objects::sums(id<MTLComputeCommandEncoder> encoder) const {
  [encoder setComputePipelineState:sum];
  [encoder useResources:buffers.data() count:32 usage:MTLResourceUsageRead];
  [encoder useResources:buffers.data() + 32 count:8 usage:MTLResourceUsageWrite];
  for (uint32_t i = 0; i < per_command_buffer; ++i) {
    if (i != 0 && i % 8 == 0) [encoder memoryBarrierWithResources:buffers.data() + 32 count:8];
    const std::array<uint32_t, 4> constants = {64};
    [encoder setBuffer:arguments[i % 8] offset:0 atIndex:0];
    [encoder setBytes:constants.data() length:sizeof constants atIndex:constants_index];
    [encoder dispatchThreadgroups:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(64, 1, 1)];
  }
}

void HandMetal::Objects::encode(MetalList list, id<MTLCommandBuffer> commands, uint32_t first) const {
  if (list == MetalList::switches) return switches(commands);
  if (list == MetalList::transfers) {
    id<MTLBlitCommandEncoder> blit = [commands blitCommandEncoder];
    transfers(blit, first);
    return [blit endEncoding];
  }
  id<MTLComputeCommandEncoder> compute = [commands computeCommandEncoderWithDispatchType:MTLDispatchTypeConcurrent];
  if (list == MetalList::dispatches) dispatches(compute, first);
  if (list == MetalList::pipelines) pipelines(compute, first);
  if (list == MetalList::arguments) sums(compute);
  [compute endEncoding];
}

HandMetal::HandMetal(std::unique_ptr<Objects> objects) : objects_(std::move(objects)) {}
HandMetal::~HandMetal() = default;

std::unique_ptr<HandMetal> HandMetal::make(const pianola::Device& device, std::string_view source,
                                           const std::vector<pianola::Buffer>& buffers) {
  @autoreleasepool {
    auto objects = std::make_unique<Objects>();
    for (size_t i = 0; i < metal_buffers; ++i) {
      objects->buffers[i] = (id<MTLBuffer>)pianola::interop::metal::native_buffer(buffers[i]);
    }
    auto native = (id<MTLDevice>)pianola::interop::metal::native_device(device);
    if (!objects->make(native, source)) return nullptr;
    return std::unique_ptr<HandMetal>(new HandMetal(std::move(objects)));
  }
}

bool HandMetal::submit(MetalList list) {
  @autoreleasepool {
    for (uint32_t first = 0; first < metal_commands; first += per_command_buffer) {
      id<MTLCommandBuffer> commands = [objects_->queue commandBufferWithUnretainedReferences];
      objects_->encode(list, commands, first);
      [commands addCompletedHandler:^(id<MTLCommandBuffer> done) {
        (void)[done status];
      }];
      [commands commit];
      [objects_->last release];
      objects_->last = [commands retain];
    }
  }
  return true;
}

bool HandMetal::wait() {
  if (objects_->last == nil) return true;
  [objects_->last waitUntilCompleted];
  return [objects_->last status] == MTLCommandBufferStatusCompleted;
}

const char* HandMetal::totals(MetalList list) {
  switch (list) {
    case MetalList::dispatches:
      return "metal: 16 command buffers, 16 encoders, 0 switches, 240 barriers, 0 blits, 8192 dispatches";
    case MetalList::pipelines:
      return "metal: 16 command buffers, 16 encoders, 0 switches, 1008 barriers, 0 blits, 8192 dispatches";
    case MetalList::transfers:
      return "metal: 16 command buffers, 16 encoders, 0 switches, 0 barriers, 8192 blits, 0 dispatches";
    case MetalList::switches:
      return "metal: 16 command buffers, 256 encoders, 240 switches, 0 barriers, 4096 blits, 4096 dispatches";
    case MetalList::arguments:
      return "metal: 16 command buffers, 16 encoders, 0 switches, 1008 barriers, 0 blits, 8192 dispatches";
  }
  return "";
}

void accept_everything() {
#if __has_include("sim_metal.hpp")
  sim_metal::Settings settings;
  settings.execute = false;
  sim_metal::configure(settings);
#endif
}

}  // namespace bench
