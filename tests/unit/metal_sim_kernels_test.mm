// SPDX-License-Identifier: Apache-2.0
// The software Metal: MSL on the CPU and the checks of what kernels touch.
#include "metal_sim_fixture.h"

using SimMetalKernels = SimMetal;

namespace {

MTLSize size(NSUInteger x) {
  return MTLSizeMake(x, 1, 1);
}

}  // namespace

TEST_F(SimMetalKernels, UnorderedDispatchesThatConflictAreFound) {
  id<MTLBuffer> a = buffer(256), b = buffer(256);
  auto set = pipeline("set_bytes");
  enum class Between { nothing, scope, resource, wrong_resource };
  const auto two = [&](uint32_t second, Between between, MTLDispatchType type = MTLDispatchTypeConcurrent) {
    compute(
        [&](id<MTLComputeCommandEncoder> e) {
          set_bytes(e, set, a, {0, 64, 1});
          if (between == Between::scope) [e memoryBarrierWithScope:MTLBarrierScopeBuffers];
          id<MTLResource> resources[] = {between == Between::resource ? a : b};
          if (between >= Between::resource) [e memoryBarrierWithResources:resources count:1];
          set_bytes(e, set, a, {second, 64, 2});
        },
        type);
  };
  two(63, Between::nothing);
  expect_finding("hazard");
  two(63, Between::wrong_resource);
  expect_finding("hazard");
  two(64, Between::nothing);
  two(63, Between::resource);
  two(63, Between::scope);
  two(63, Between::nothing, MTLDispatchTypeSerial);
  expect_no_finding();
}

TEST_F(SimMetalKernels, CountsWrittenInTheSameEncoderAreFoundWhateverBarrierStandsBetween) {
  id<MTLBuffer> counts = buffer(16), out = buffer(16);
  auto set = pipeline("set_bytes");
  const auto launch = [&](id<MTLComputeCommandEncoder> e) {
    [e setComputePipelineState:set];
    const SetBytes one{0, 1, 1};
    [e setBuffer:out offset:0 atIndex:0];
    [e setBytes:&one length:sizeof one atIndex:1];
    [e dispatchThreadgroupsWithIndirectBuffer:counts indirectBufferOffset:0 threadsPerThreadgroup:size(1)];
  };
  for (const MTLDispatchType type : {MTLDispatchTypeConcurrent, MTLDispatchTypeSerial}) {
    compute(
        [&](id<MTLComputeCommandEncoder> e) {
          set_bytes(e, set, counts, {0, 12, 0});
          [e memoryBarrierWithScope:MTLBarrierScopeBuffers];
          launch(e);
        },
        type);
    expect_finding("indirect");
  }
  run([&](id<MTLCommandBuffer> commands) {
    id<MTLComputeCommandEncoder> e = [commands computeCommandEncoder];
    set_bytes(e, set, counts, {0, 12, 0});
    [e endEncoding];
    e = [commands computeCommandEncoder];
    launch(e);
    [e endEncoding];
  });
  expect_no_finding();
}

TEST_F(SimMetalKernels, ConstantMemoryIsBoundWhereTheGpuSays) {
  id<MTLBuffer> in = buffer(256), out = buffer(16);
  auto kernel = pipeline("from_constants");
  const auto read_at = [&](NSUInteger offset) {
    compute([&](id<MTLComputeCommandEncoder> e) {
      [e setComputePipelineState:kernel];
      [e setBuffer:in offset:offset atIndex:0];
      [e setBuffer:out offset:0 atIndex:1];
      [e dispatchThreadgroups:size(1) threadsPerThreadgroup:size(1)];
    });
  };
  read_at(32);
  expect_no_finding();
  read_at(16);
  expect_finding("alignment");
  sim_metal::configure({.alignment = sim_metal::AlignmentRule::apple});
  read_at(4);
  expect_no_finding();
}

TEST_F(SimMetalKernels, UntrackedBuffersNeedTheRightFenceBetweenEncoders) {
  id<MTLBuffer> a = buffer(256, MTLResourceHazardTrackingModeUntracked);
  auto set = pipeline("set_bytes");
  id<MTLFence> fence = [device newFence], other = [device newFence];
  const auto two = [&](id<MTLFence> updated, id<MTLFence> waited) {
    run([&](id<MTLCommandBuffer> commands) {
      id<MTLComputeCommandEncoder> e = [commands computeCommandEncoder];
      set_bytes(e, set, a, {0, 64, 1});
      if (updated != nil) [e updateFence:updated];
      [e endEncoding];
      e = [commands computeCommandEncoder];
      if (waited != nil) [e waitForFence:waited];
      set_bytes(e, set, a, {0, 64, 2});
      [e endEncoding];
    });
  };
  two(nil, nil);
  expect_finding("hazard");
  two(fence, other);
  expect_finding("hazard");
  two(fence, fence);
  expect_no_finding();
  [fence release];
  [other release];
}

TEST_F(SimMetalKernels, QueuesAreOrderedByEventsOnly) {
  id<MTLBuffer> a = buffer(4096);
  auto set = pipeline("set_bytes");
  id<MTLCommandQueue> second = [device newCommandQueue];
  id<MTLSharedEvent> event = [device newSharedEvent];
  id<MTLSharedEvent> gate = [device newSharedEvent];  // neither ends before both are committed
  const auto both = [&](bool wait, uint64_t value) {
    @autoreleasepool {
      id<MTLCommandBuffer> one = [queue commandBuffer], two = [second commandBuffer];
      [one encodeWaitForEvent:gate value:value];
      [two encodeWaitForEvent:gate value:value];
      id<MTLComputeCommandEncoder> e = [one computeCommandEncoder];
      set_bytes(e, set, a, {0, 64, 1});
      [e endEncoding];
      [one encodeSignalEvent:event value:value];
      if (wait) [two encodeWaitForEvent:event value:value];
      e = [two computeCommandEncoder];
      set_bytes(e, set, a, {0, 64, 2});
      [e endEncoding];
      [two commit];
      [one commit];
      gate.signaledValue = value;
      [one waitUntilCompleted];
      [two waitUntilCompleted];
    }
  };
  both(true, 1);
  expect_no_finding();
  both(false, 2);
  expect_finding("hazard");
  [gate release];
  [event release];
  [second release];
}

TEST_F(SimMetalKernels, ArgumentBuffersReachOnlyResidentBuffersInTheDeclaredWay) {
  id<MTLBuffer> x = buffer(64), y = buffer(64), arguments = buffer(256);
  auto add = pipeline("add_pair");
  auto encoder = argument_encoder("add_pair", 0);
  EXPECT_EQ(encoder.encodedLength, 16U);
  [encoder setArgumentBuffer:arguments offset:32];
  [encoder setBuffer:x offset:0 atIndex:0];
  [encoder setBuffer:y offset:4 atIndex:1];
  for (uint32_t i = 0; i < 16; ++i) static_cast<uint32_t*>([x contents])[i] = i;
  const auto go = [&](bool resident, MTLResourceUsage usage_of_y) {
    return compute([&](id<MTLComputeCommandEncoder> e) {
      const uint32_t n = 8;
      [e setComputePipelineState:add];
      [e setBuffer:arguments offset:32 atIndex:0];
      [e setBytes:&n length:sizeof n atIndex:3];
      if (resident) [e useResource:x usage:MTLResourceUsageRead];
      if (resident) [e useResource:y usage:usage_of_y];
      [e dispatchThreadgroups:size(1) threadsPerThreadgroup:size(8)];
    });
  };
  EXPECT_EQ(go(true, MTLResourceUsageRead | MTLResourceUsageWrite), 0);
  expect_no_finding();
  EXPECT_EQ(static_cast<uint32_t*>([y contents])[8], 7U);
  EXPECT_EQ(go(false, 0), MTLCommandBufferErrorPageFault);
  expect_finding("residency");
  EXPECT_EQ(go(true, MTLResourceUsageRead), MTLCommandBufferErrorPageFault);
  expect_finding("usage");
}

TEST_F(SimMetalKernels, WhatIsBoundForAnotherKernelIsNotResident) {
  id<MTLBuffer> x = buffer(64), y = buffer(64), arguments = buffer(256);
  auto add = pipeline("add_pair");
  auto encoder = argument_encoder("add_pair", 0);
  [encoder setArgumentBuffer:arguments offset:0];
  [encoder setBuffer:x offset:0 atIndex:0];
  [encoder setBuffer:y offset:0 atIndex:1];
  compute([&](id<MTLComputeCommandEncoder> e) {
    const uint32_t n = 8;
    [e setBuffer:x offset:0 atIndex:1];
    [e setComputePipelineState:add];
    [e setBuffer:arguments offset:0 atIndex:0];
    [e setBytes:&n length:sizeof n atIndex:3];
    [e useResource:y usage:MTLResourceUsageRead | MTLResourceUsageWrite];
    [e dispatchThreadgroups:size(1) threadsPerThreadgroup:size(8)];
  });
  expect_finding("residency");
}

TEST_F(SimMetalKernels, ArgumentBuffersHoldArrays) {
  id<MTLBuffer> values = buffer(256), arguments = buffer(512), out = buffer(4);
  auto encoder = argument_encoder("sum_array", 0);
  [encoder setArgumentBuffer:arguments offset:0];
  uint32_t expected = 0;
  for (uint32_t i = 0; i < 40; ++i) {
    static_cast<uint32_t*>([values contents])[i] = i * i;
    expected += i * i;
    [encoder setBuffer:values offset:4 * i atIndex:i];
  }
  compute([&](id<MTLComputeCommandEncoder> e) {
    [e setComputePipelineState:pipeline("sum_array")];
    [e setBuffer:arguments offset:0 atIndex:0];
    [e setBuffer:out offset:0 atIndex:1];
    [e useResource:values usage:MTLResourceUsageRead];
    [e dispatchThreadgroups:size(1) threadsPerThreadgroup:size(1)];
  });
  EXPECT_EQ(*static_cast<uint32_t*>([out contents]), expected);
}

TEST_F(SimMetalKernels, ThreadsOfAGroupMeetAtBarriers) {
  id<MTLBuffer> in = buffer(4 * 64 * 16), out = buffer(64);
  for (size_t i = 0; i < 1024; ++i) static_cast<uint32_t*>([in contents])[i] = 1;
  compute([&](id<MTLComputeCommandEncoder> e) {
    [e setComputePipelineState:pipeline("reduce")];
    [e setBuffer:in offset:0 atIndex:0];
    [e setBuffer:out offset:0 atIndex:1];
    [e dispatchThreadgroups:size(4) threadsPerThreadgroup:size(64)];
  });
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(static_cast<uint32_t*>([out contents])[i], 256U);
  compute([&](id<MTLComputeCommandEncoder> e) {
    [e setComputePipelineState:pipeline("half_barrier")];
    [e setBuffer:out offset:0 atIndex:0];
    [e dispatchThreadgroups:size(1) threadsPerThreadgroup:size(8)];
  });
  expect_finding("barrier");
}

TEST_F(SimMetalKernels, RacesBetweenThreadsAreFoundAndAtomicsAreNotRaces) {
  id<MTLBuffer> out = buffer(64);
  const auto go = [&](const char* name) {
    compute([&](id<MTLComputeCommandEncoder> e) {
      [e setComputePipelineState:pipeline(name)];
      [e setBuffer:out offset:0 atIndex:0];
      [e dispatchThreadgroups:size(3) threadsPerThreadgroup:size(32)];
    });
  };
  go("count_all");
  expect_no_finding();
  EXPECT_EQ(*static_cast<uint32_t*>([out contents]), 96U);
  go("race");
  expect_finding("race");
}

TEST_F(SimMetalKernels, AccessPastABufferAndMissingBindingsAreFound) {
  id<MTLBuffer> a = buffer(64);
  auto set = pipeline("set_bytes");
  EXPECT_EQ(compute([&](id<MTLComputeCommandEncoder> e) { set_bytes(e, set, a, {60, 5, 1}); }),
            MTLCommandBufferErrorPageFault);
  expect_finding("bounds");
  compute([&](id<MTLComputeCommandEncoder> e) {
    [e setComputePipelineState:set];
    [e setBuffer:a offset:0 atIndex:0];
    [e dispatchThreadgroups:size(1) threadsPerThreadgroup:size(8)];
  });
  expect_finding("binding");
}

TEST_F(SimMetalKernels, IndirectCountsAreReadWhenTheDispatchRuns) {
  id<MTLBuffer> a = buffer(256), counts = buffer(64);
  const uint32_t groups[3] = {2, 1, 1};
  compute([&](id<MTLComputeCommandEncoder> e) {
    const SetBytes what{0, 64, 9};
    [e setComputePipelineState:pipeline("set_bytes")];
    [e setBuffer:a offset:0 atIndex:0];
    [e setBytes:&what length:sizeof what atIndex:1];
    [e dispatchThreadgroupsWithIndirectBuffer:counts indirectBufferOffset:4 threadsPerThreadgroup:size(16)];
    std::memcpy(static_cast<char*>([counts contents]) + 4, groups, sizeof groups);
  });
  EXPECT_EQ(static_cast<uint8_t*>([a contents])[31], 9);
  EXPECT_EQ(static_cast<uint8_t*>([a contents])[32], 0);
}

TEST_F(SimMetalKernels, WrongSourceGivesTheCompilersText) {
  const auto text_of = [&](const char* source) {
    std::string text;
    @autoreleasepool {
      NSError* error = nil;
      id<MTLLibrary> made = [device newLibraryWithSource:[NSString stringWithUTF8String:source]
                                                 options:nil
                                                   error:&error];
      EXPECT_EQ(made, nil);
      if (error != nil) text = [[error localizedDescription] UTF8String];
    }
    return text;
  };
  const std::string head = "#include <metal_stdlib>\nusing namespace metal;\nkernel void k(";
  EXPECT_NE(text_of((head + "device int* d [[buffer(0)]]) { nosuch(); }").c_str()).find("nosuch"), std::string::npos);
  EXPECT_NE(text_of((head + "int* d [[buffer(0)]]) {}").c_str()).find("without an address space"), std::string::npos);
  EXPECT_NE(text_of((head + "constant int* d [[buffer(0)]]) { d[0] = 1; }").c_str()).find("error"), std::string::npos);
  EXPECT_NE(text_of((head + "device int* d [[buffer(0)]]) { int* p = d; *p = 1; }").c_str()).find("cannot initialize"),
            std::string::npos);
}
