// SPDX-License-Identifier: Apache-2.0
#include "metal_sim_fixture.h"

#include <unistd.h>

namespace {

constexpr const char* source = R"(
#include <metal_stdlib>
using namespace metal;
#define ID thread_position_in_grid
struct SetBytes { uint offset, count, value; };
kernel void set_bytes(device uchar* out [[buffer(0)]], constant SetBytes& s [[buffer(1)]], uint id [[ID]]) {
  if (id < s.count) out[s.offset + id] = uchar(s.value);
}
kernel void get_bytes(device const uchar* in [[buffer(0)]], constant SetBytes& s [[buffer(1)]],
                      device uchar* out [[buffer(2)]], uint id [[ID]]) {
  if (id < s.count) out[id] = in[s.offset + id];
}
kernel void fill_words(device uint* out [[buffer(0)]], constant SetBytes& s [[buffer(1)]], uint id [[ID]]) {
  if (id < (s.offset % 4 + s.count + 3) / 4) out[s.offset / 4 + id] = s.value * 0x01010101u;
}
kernel void merge_words(device uint* out [[buffer(0)]], constant SetBytes& s [[buffer(1)]], uint id [[ID]]) {
  uint keep = 0xffffffffu;
  for (uint byte = 0; byte < 4; ++byte) {
    uint at = (s.offset / 4 + id) * 4 + byte;
    if (at >= s.offset && at < s.offset + s.count) keep &= ~(0xffu << 8 * byte);
  }
  if (keep != 0xffffffffu) out[s.offset / 4 + id] = (out[s.offset / 4 + id] & keep) | (s.value * 0x01010101u & ~keep);
}
struct Pair { device const uint* x [[id(0)]]; device uint* y [[id(1)]]; };
kernel void add_pair(constant Pair& pair [[buffer(0)]], constant uint& n [[buffer(3)]], uint2 id [[ID]]) {
  if (id.x < n) pair.y[id.x] += pair.x[id.x];
}
struct Array { device uint* items[40]; };
kernel void sum_array(constant Array& array [[buffer(0)]], device uint* out [[buffer(1)]]) {
  uint sum = 0;
  for (int i = 0; i < 40; ++i) sum += *array.items[i];
  *out = sum;
}
kernel void reduce(device const uint4* in [[buffer(0)]], device uint* out [[buffer(1)]],
                   uint lane [[thread_index_in_threadgroup]], uint group [[threadgroup_position_in_grid]],
                   ushort3 size [[threads_per_threadgroup]]) {
  threadgroup uint tile[64];
  uint4 v = in[group * size.x + lane] + uint4(0, uint2(0), 0);
  tile[lane] = v.x + v.y + v.z + v.w;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint half_size = size.x / 2; half_size > 0; half_size /= 2) {
    if (lane < half_size) tile[lane] += tile[lane + half_size];
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  threadgroup uint* first = &tile[0];
  if (lane == 0) out[group] = *first;
}
kernel void half_barrier(device uint* out [[buffer(0)]], uint lane [[thread_index_in_threadgroup]]) {
  if (lane < 3) threadgroup_barrier(mem_flags::mem_none);
  out[lane] = lane;
}
kernel void read_at(device uchar* d [[buffer(0)]], constant uchar* c [[buffer(1)]], constant uint2& s [[buffer(2)]],
                    device uint* out [[buffer(3)]], threadgroup uchar* t [[threadgroup(0)]]) {
  if (s.x == 0) *out = *(device uint*)(d + s.y);
  if (s.x == 1) *(device uint*)(d + s.y) = 1;
  if (s.x == 2) *out = *(constant uint*)(c + s.y);
  if (s.x == 3) *(threadgroup uint*)(t + s.y) = 1;
  if (s.x == 4) *out = ((device packed_uint3*)(d + s.y))->z;
  if (s.x == 5) *(device uint4*)(d + s.y) = 1;
}
kernel void tile_and_more(device uint* out [[buffer(0)]], threadgroup uint* more [[threadgroup(2)]],
                          uint lane [[thread_index_in_threadgroup]]) {
  threadgroup uint tile[256];
  threadgroup uint* end = &tile[255];
  tile[lane] = lane;
  *end = 7;
  more[lane] = lane;
  out[lane] = tile[lane] + more[lane] + *end;
}
kernel void count_all(device atomic_uint* out [[buffer(0)]]) {
  atomic_fetch_add_explicit(out, 1u, memory_order_relaxed);
}
kernel void from_constants(constant uint* in [[buffer(0)]], device uint* out [[buffer(1)]]) { *out = *in; }
kernel void race(device uint* out [[buffer(0)]], uint id [[ID]]) { *out = id; }
)";

id<MTLFunction> named(id<MTLLibrary> library, const char* name) {
  @autoreleasepool {
    return [library newFunctionWithName:[NSString stringWithUTF8String:name]];
  }
}

}  // namespace

void SimMetal::SetUp() {
  sim_metal::configure({});
  sim_metal::clear_faults();
  sim_metal::take_findings();
  sim_metal::reset_counts();
  // The test before may have left a queue on its own thread, which is about to end.
  for (int i = 0; i < 1000 && sim_metal::live_objects() != 0; ++i) usleep(1000);
  live_before_ = sim_metal::live_objects();
  device = MTLCreateSystemDefaultDevice();
  queue = [device newCommandQueue];
  @autoreleasepool {
    NSError* error = nil;
    library = [device newLibraryWithSource:[NSString stringWithUTF8String:source] options:nil error:&error];
    ASSERT_NE(library, nil) << [[error localizedDescription] UTF8String];
  }
}

void SimMetal::TearDown() {
  expect_no_finding();
  for (id object : owned_) [object release];
  [library release];
  [queue release];
  [device release];
  // A queue lets go of a command buffer a moment after those who wait for it wake.
  for (int i = 0; i < 1000 && sim_metal::live_objects() != live_before_; ++i) usleep(1000);
  EXPECT_EQ(sim_metal::live_objects(), live_before_);
}

id<MTLBuffer> SimMetal::buffer(NSUInteger size, MTLResourceOptions options) {
  id<MTLBuffer> made = [device newBufferWithLength:size options:options];
  if (made.storageMode != MTLStorageModePrivate) std::memset([made contents], 0, size);
  owned_.push_back(made);
  return made;
}

id<MTLComputePipelineState> SimMetal::pipeline(const char* name) {
  id<MTLFunction> function = named(library, name);
  id<MTLComputePipelineState> made = [device newComputePipelineStateWithFunction:function error:nil];
  owned_.push_back(function);
  owned_.push_back(made);
  return made;
}

id<MTLArgumentEncoder> SimMetal::argument_encoder(const char* name, NSUInteger index) {
  id<MTLFunction> function = named(library, name);
  id<MTLArgumentEncoder> made = [function newArgumentEncoderWithBufferIndex:index];
  owned_.push_back(function);
  owned_.push_back(made);
  return made;
}

NSInteger SimMetal::run(const Encode& encode) {
  NSInteger code = 0;
  @autoreleasepool {
    id<MTLCommandBuffer> commands = [queue commandBuffer];
    encode(commands);
    [commands commit];
    [commands waitUntilCompleted];
    if (commands.error != nil) code = [commands.error code];
  }
  return code;
}

NSInteger SimMetal::compute(const std::function<void(id<MTLComputeCommandEncoder>)>& encode, MTLDispatchType type) {
  return run([&](id<MTLCommandBuffer> commands) {
    id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoderWithDispatchType:type];
    encode(encoder);
    [encoder endEncoding];
  });
}

NSInteger SimMetal::blit(const std::function<void(id<MTLBlitCommandEncoder>)>& encode) {
  return run([&](id<MTLCommandBuffer> commands) {
    id<MTLBlitCommandEncoder> encoder = [commands blitCommandEncoder];
    encode(encoder);
    [encoder endEncoding];
  });
}

void SimMetal::expect_finding(const char* rule) {
  const auto findings = sim_metal::take_findings();
  EXPECT_FALSE(findings.empty()) << "expected a finding of rule " << rule;
  for (const auto& finding : findings) EXPECT_EQ(finding.substr(0, finding.find(':')), rule) << finding;
}
void SimMetal::expect_no_finding() {
  for (const auto& finding : sim_metal::take_findings()) ADD_FAILURE() << finding;
}

void get_bytes(id<MTLComputeCommandEncoder> encoder, id<MTLComputePipelineState> pipeline, id<MTLBuffer> from,
               id<MTLBuffer> to, SetBytes what) {
  [encoder setBuffer:to offset:0 atIndex:2];
  set_bytes(encoder, pipeline, from, what);
}

void set_bytes(id<MTLComputeCommandEncoder> encoder, id<MTLComputePipelineState> pipeline, id<MTLBuffer> buffer,
               SetBytes what) {
  [encoder setComputePipelineState:pipeline];
  [encoder setBuffer:buffer offset:0 atIndex:0];
  [encoder setBytes:&what length:sizeof what atIndex:1];
  [encoder dispatchThreads:MTLSizeMake(what.count, 1, 1) threadsPerThreadgroup:MTLSizeMake(32, 1, 1)];
}
