// SPDX-License-Identifier: Apache-2.0
// Copies for the host's reads and writes of private memory: a blit where its alignment allows one, else the built-in
// kernel. Neither reads or writes a neighbouring byte, which others may use at the same time.
#include "backend/metal/convert.hpp"
#include "backend/metal/device.hpp"
#include "backend/metal/emit.hpp"
#include "format/builtin_kernels.hpp"

namespace pianola::backend::metal {
namespace {

bool encode_blit(id<MTLCommandBuffer> commands, const Bound& to, const Bound& from, uint64_t size) {
  id<MTLBlitCommandEncoder> encoder = [commands blitCommandEncoder];
  [encoder copyFromBuffer:from.buffer
             sourceOffset:from.offset
                 toBuffer:to.buffer
        destinationOffset:to.offset
                     size:size];
  [encoder endEncoding];
  return encoder != nil;
}

/// `nothing` is bound where the kernel reads or writes nothing.
bool encode_kernel(id<MTLCommandBuffer> commands, const Pipeline& pipeline, const Bound& to, const Bound& from,
                   uint64_t size, id<MTLBuffer> nothing) {
  std::vector<DispatchStep> steps;  // all that can fail comes before the encoder is open
  std::vector<Place> places;
  std::vector<std::byte> constants;
  const LateBuiltin all{.from = {.offset = from.offset}, .to = {.offset = to.offset}, .size = size};
  for_each_piece(all, [&](const LateBuiltin& what) {
    steps.push_back(builtin_step(builtin_copy(what.to.offset, what.from.offset, what.size), what, places, constants));
  });
  id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoder];
  [encoder setComputePipelineState:pipeline.state.get()];
  for (const DispatchStep& step : steps) {
    for (uint32_t i = 0; i < step.place_count; ++i) {
      const Place& place = places[step.first_place + i];
      id<MTLBuffer> buffer = place.slot == nothing_slot ? nothing : i < 2 ? from.buffer : to.buffer;
      [encoder setBuffer:buffer offset:place.offset atIndex:i];
    }
    [encoder setBytes:constants.data() + step.first_constant length:step.constant_bytes atIndex:constants_index];
    [encoder dispatchThreadgroups:to_size(step.groups) threadsPerThreadgroup:pipeline.threads];
  }
  [encoder endEncoding];
  return encoder != nil;
}

}  // namespace

Result<> MetalDevice::copy(const Bound& to, const Bound& from, uint64_t size) {
  if (auto is_there = loss_.check(); !is_there) return is_there;
  @autoreleasepool {
    const bool is_blit = (to.offset | from.offset | size) % target_.blit_alignment == 0;
    std::shared_ptr<const Pipeline> pipeline;
    if (!is_blit) {
      auto made = pipelines_.get(builtin_kernels(), builtin_key("pianola_copy_blocks").entry);
      if (!made) return made.error();
      pipeline = std::move(*made);
    }
    id<MTLCommandBuffer> commands = [transfer_queue_.get() commandBuffer];
    const bool is_encoded =
        is_blit ? encode_blit(commands, to, from, size) : encode_kernel(commands, *pipeline, to, from, size, nothing());
    if (!is_encoded) return call_error(Errc::out_of_memory, "commandEncoder", "no command encoder for a copy", nil);
    [commands commit];
    [commands waitUntilCompleted];
    if ([commands status] != MTLCommandBufferStatusError) return {};
    Error error = command_buffer_error([commands error]);
    loss_.note(error.code);
    return error;
  }
}

}  // namespace pianola::backend::metal
