// SPDX-License-Identifier: Apache-2.0
// The compute encoder: state, dispatches, barriers.
#include "control.hpp"
#include "objects.h"

using sim_metal::Binding;
using sim_metal::Command;
using sim_metal::Counts;
using sim_metal::report;

namespace {

constexpr NSUInteger set_bytes_limit = 4096;  ///< setBytes takes less than this

/// The object, copied first if a dispatch has it already.
template <class T>
T& unshared(std::shared_ptr<T>& pointer) {
  if (!pointer) pointer = std::make_shared<T>();
  if (pointer.use_count() > 1) pointer = std::make_shared<T>(*pointer);
  return *pointer;
}

std::array<uint32_t, 3> three(MTLSize size) {
  return {static_cast<uint32_t>(size.width), static_cast<uint32_t>(size.height), static_cast<uint32_t>(size.depth)};
}

bool is_index(NSUInteger index) {
  if (index >= sim_metal::max_buffer_bindings) report("binding", "buffer index %lu is not in 0 to 30", index);
  return index < sim_metal::max_buffer_bindings;
}

}  // namespace

@implementation SimMetalComputeEncoder
- (MTLDispatchType)dispatchType {
  return _encoder->concurrent ? MTLDispatchTypeConcurrent : MTLDispatchTypeSerial;
}
- (void)setComputePipelineState:(id<MTLComputePipelineState>)state {
  if (![self isOpen:"setComputePipelineState:"]) return;
  if (state == nil) return report("compute", "setComputePipelineState: nil");
  _pipeline = {((SimMetalPipeline*)state)->_pipeline, _parent->_buffer->retained};
}
- (void)setBytes:(const void*)bytes length:(NSUInteger)length atIndex:(NSUInteger)index {
  if (![self isOpen:"setBytes:"] || !is_index(index)) return;
  if (length >= set_bytes_limit) report("binding", "setBytes: length %lu is not below %lu", length, set_bytes_limit);
  if (bytes == nullptr || length == 0) return report("binding", "setBytes: empty");
  sim_metal::with_counts([](Counts& c, uint64_t by) { c.bytes_set += by; }, length);
  Binding binding;
  binding.kind = Binding::Kind::bytes;
  const auto* first = static_cast<const uint8_t*>(bytes);
  binding.bytes.assign(first, first + length);
  unshared(_state).bindings[index] = std::move(binding);
}
- (void)setBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset atIndex:(NSUInteger)index {
  if (![self isOpen:"setBuffer:"] || !is_index(index)) return;
  Binding binding;
  if (buffer != nil) {
    if (offset >= buffer.length) {
      return report("bounds", "setBuffer: offset %lu is past the end (%lu)", offset, buffer.length);
    }
    binding.kind = Binding::Kind::buffer;
    binding.use = [self use:buffer read:true write:true];
    binding.offset = offset;
  }
  unshared(_state).bindings[index] = std::move(binding);
}
- (void)setBufferOffset:(NSUInteger)offset atIndex:(NSUInteger)index {
  if (![self isOpen:"setBufferOffset:"] || !is_index(index)) return;
  if (!_state || _state->bindings[index].kind != Binding::Kind::buffer) {
    return report("binding", "setBufferOffset: no buffer at index %lu", index);
  }
  const auto memory = _state->bindings[index].use.get();
  if (!memory) return report("lifetime", "setBufferOffset: the buffer at index %lu was freed", index);
  const uint64_t length = memory->length();
  if (offset >= length) return report("bounds", "setBufferOffset: offset %lu is past the end (%lu)", offset, length);
  unshared(_state).bindings[index].offset = offset;
}
- (void)setThreadgroupMemoryLength:(NSUInteger)length atIndex:(NSUInteger)index {
  if (![self isOpen:"setThreadgroupMemoryLength:"] || !is_index(index)) return;
  if (length % 16 != 0) report("alignment", "setThreadgroupMemoryLength: %lu is not a multiple of 16", length);
  unshared(_state).threadgroup_bytes[index] = length;
}
- (void)useResource:(id<MTLResource>)resource usage:(MTLResourceUsage)usage {
  if (![self isOpen:"useResource:"]) return;
  if (resource == nil) return report("residency", "useResource: nil");
  const bool read = (usage & MTLResourceUsageRead) != 0;
  const bool write = (usage & MTLResourceUsageWrite) != 0;
  sim_metal::with_counts(
      [](Counts& c, uint64_t bits) {
        if ((bits & MTLResourceUsageRead) != 0) ++c.used_to_read;
        if ((bits & MTLResourceUsageWrite) != 0) ++c.used_to_write;
      },
      usage);
  unshared(_state).resident.push_back([self use:resource read:read write:write]);
}
- (void)useResources:(const id<MTLResource>[])resources count:(NSUInteger)count usage:(MTLResourceUsage)usage {
  for (NSUInteger i = 0; i < count; ++i) [self useResource:resources[i] usage:usage];
}

/// A dispatch with the state as it is, or null.
- (Command*)dispatch:(MTLSize)threads {
  if (![self isOpen:"a dispatch"]) return nullptr;
  const auto pipeline = _pipeline.get();
  if (!pipeline) {
    if (_pipeline.is_freed()) report("lifetime", "the pipeline state of a dispatch was freed");
    if (!_pipeline.is_freed()) report("compute", "a dispatch without a pipeline state");
    return nullptr;
  }
  const NSUInteger product = threads.width * threads.height * threads.depth;
  if (product == 0 || product > pipeline->max_threads) {
    report("compute", "%lu threads a threadgroup, the pipeline takes 1 to %lu", product, pipeline->max_threads);
    return nullptr;
  }
  const auto most = sim_metal::settings().max_threadgroup;
  if (threads.width > most[0] || threads.height > most[1] || threads.depth > most[2]) {
    report("compute", "threadgroups of %lu x %lu x %lu threads, the device takes %u x %u x %u", threads.width,
           threads.height, threads.depth, most[0], most[1], most[2]);
    return nullptr;
  }
  sim_metal::with_counts([](Counts& c, uint64_t) { ++c.dispatches; }, 0);
  if (!_state) _state = std::make_shared<sim_metal::DispatchState>();
  if (!_barriers) _barriers = std::make_shared<sim_metal::BarrierState>();
  Command& command = [self add:Command::Kind::dispatch];
  command.pipeline = _pipeline;
  command.kernel = pipeline->kernel;
  command.state = _state;
  command.barriers = _barriers;
  command.threads = three(threads);
  return &command;
}
- (void)dispatchThreadgroups:(MTLSize)groups threadsPerThreadgroup:(MTLSize)threads {
  if (groups.width * groups.height * groups.depth == 0) return report("compute", "dispatchThreadgroups: empty grid");
  if (Command* command = [self dispatch:threads]) command->groups = three(groups);
}
- (void)dispatchThreads:(MTLSize)total threadsPerThreadgroup:(MTLSize)threads {
  if (total.width * total.height * total.depth == 0) return report("compute", "dispatchThreads: empty grid");
  Command* command = [self dispatch:threads];
  if (command == nullptr) return;
  command->total = three(total);
  for (size_t d = 0; d < 3; ++d) {
    command->groups[d] = (command->total[d] + command->threads[d] - 1) / command->threads[d];
  }
}
- (void)dispatchThreadgroupsWithIndirectBuffer:(id<MTLBuffer>)buffer
                          indirectBufferOffset:(NSUInteger)offset
                         threadsPerThreadgroup:(MTLSize)threads {
  if (buffer == nil) return report("compute", "indirect dispatch: nil buffer");
  if (offset % 4 != 0) return report("alignment", "indirectBufferOffset %lu is not a multiple of 4", offset);
  if (!sim_metal::fits(offset, sizeof(MTLDispatchThreadgroupsIndirectArguments), buffer.length)) {
    return report("bounds", "indirect dispatch: the counts end past the buffer");
  }
  Command* command = [self dispatch:threads];
  if (command == nullptr) return;
  command->is_indirect = true;
  command->a = [self use:buffer read:true write:false];
  command->a_offset = offset;
}
- (void)memoryBarrierWithScope:(MTLBarrierScope)scope {
  if (![self isOpen:"memoryBarrierWithScope:"]) return;
  sim_metal::with_counts(
      [](Counts& c, uint64_t) {
        ++c.barriers;
        ++c.scope_barriers;
      },
      0);
  if ((scope & MTLBarrierScopeBuffers) != 0) unshared(_barriers).all = _index;
}
- (void)memoryBarrierWithResources:(const id<MTLResource>[])resources count:(NSUInteger)count {
  if (![self isOpen:"memoryBarrierWithResources:"]) return;
  if (count == 0) return report("barrier", "memoryBarrierWithResources: none");
  sim_metal::with_counts([](Counts& c, uint64_t) { ++c.barriers; }, 0);
  auto& barriers = unshared(_barriers);
  for (NSUInteger i = 0; i < count; ++i) {
    barriers.of_resource[((SimMetalBuffer*)resources[i])->_memory.get()] = _index;
  }
}
@end
