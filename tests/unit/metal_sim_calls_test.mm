// SPDX-License-Identifier: Apache-2.0
// The software Metal: each call that Metal does not take, alone.
#include <sys/mman.h>

#include "metal_sim_fixture.h"

namespace {

class SimMetalCalls : public SimMetal {
 protected:
  void SetUp() override {
    SimMetal::SetUp();
    a = buffer(64);
    set = pipeline("set_bytes");
  }
  /// In a compute encoder that is otherwise in order.
  void expect_in_compute(const char* rule, const std::function<void(id<MTLComputeCommandEncoder>)>& call) {
    compute([&](id<MTLComputeCommandEncoder> e) {
      set_bytes(e, set, a, {0, 4, 1});
      call(e);
    });
    expect_finding(rule);
  }
  /// On a command buffer that is otherwise in order.
  void expect_in_commands(const char* rule, const Encode& before_commit, const Encode& after_commit) {
    @autoreleasepool {
      id<MTLCommandBuffer> commands = [queue commandBuffer];
      id<MTLBlitCommandEncoder> e = [commands blitCommandEncoder];
      [e fillBuffer:a range:NSMakeRange(0, 4) value:1];
      [e endEncoding];
      if (before_commit) before_commit(commands);
      if (before_commit) expect_finding(rule);
      [commands commit];
      if (after_commit) after_commit(commands);
      if (after_commit) expect_finding(rule);
      [commands waitUntilCompleted];
    }
  }
  static MTLSize size(NSUInteger x, NSUInteger y = 1, NSUInteger z = 1) { return MTLSizeMake(x, y, z); }

  id<MTLBuffer> a = nil;
  id<MTLComputePipelineState> set = nil;
};

using Compute = id<MTLComputeCommandEncoder>;
using Commands = id<MTLCommandBuffer>;

}  // namespace

TEST_F(SimMetalCalls, IndicesOfBuffersEndAtThirty) {
  expect_in_compute("binding", [&](Compute e) { [e setBuffer:a offset:0 atIndex:31]; });
  expect_in_compute("binding", [&](Compute e) { [e setBufferOffset:0 atIndex:31]; });
  expect_in_compute("binding", [](Compute e) { [e setBytes:"x" length:1 atIndex:31]; });
  expect_in_compute("binding", [](Compute e) { [e setThreadgroupMemoryLength:16 atIndex:31]; });
}

TEST_F(SimMetalCalls, SetBytesTakesSomeBytesAndLessThanFourKibibytes) {
  const std::vector<char> big(4096);
  compute([&](Compute e) {
    [e setBytes:big.data() length:4095 atIndex:5];
    set_bytes(e, set, a, {0, 4, 1});
  });
  expect_no_finding();
  expect_in_compute("binding", [&](Compute e) { [e setBytes:big.data() length:4096 atIndex:5]; });
  expect_in_compute("binding", [&](Compute e) { [e setBytes:big.data() length:0 atIndex:5]; });
  expect_in_compute("binding", [](Compute e) { [e setBytes:nullptr length:16 atIndex:5]; });
}

TEST_F(SimMetalCalls, OffsetsOfBoundBuffersLieWithinThem) {
  expect_in_compute("bounds", [&](Compute e) { [e setBuffer:a offset:64 atIndex:0]; });
  expect_in_compute("bounds", [](Compute e) { [e setBufferOffset:64 atIndex:0]; });
  expect_in_compute("binding", [](Compute e) { [e setBufferOffset:0 atIndex:7]; });
  expect_in_compute("binding", [](Compute e) { [e setBufferOffset:0 atIndex:1]; });  // bytes are there
}

TEST_F(SimMetalCalls, ThreadgroupMemoryComesInMultiplesOfSixteen) {
  expect_in_compute("alignment", [](Compute e) { [e setThreadgroupMemoryLength:24 atIndex:0]; });
}

TEST_F(SimMetalCalls, NothingIsNil) {
  expect_in_compute("compute", [](Compute e) { [e setComputePipelineState:nil]; });
  expect_in_compute("residency", [](Compute e) { [e useResource:nil usage:MTLResourceUsageRead]; });
  expect_in_compute("fence", [](Compute e) { [e updateFence:nil]; });
  expect_in_compute("fence", [](Compute e) { [e waitForFence:nil]; });
  expect_in_compute("barrier", [](Compute e) { [e memoryBarrierWithResources:nullptr count:0]; });
  expect_in_commands("event", [](Commands c) { [c encodeSignalEvent:nil value:1]; }, nullptr);
  expect_in_commands("event", [](Commands c) { [c encodeWaitForEvent:nil value:1]; }, nullptr);
  EXPECT_EQ([device newComputePipelineStateWithFunction:nil error:nil], nil);
  expect_finding("compute");
}

TEST_F(SimMetalCalls, DispatchesNeedAPipelineState) {
  compute([&](Compute e) {
    [e dispatchThreadgroups:size(1) threadsPerThreadgroup:size(1)];
    set_bytes(e, set, a, {0, 4, 1});
  });
  expect_finding("compute");
}

TEST_F(SimMetalCalls, GridsAndThreadgroupsAreNeverEmpty) {
  for (const MTLSize empty : {size(0), size(1, 0), size(1, 1, 0)}) {
    expect_in_compute("compute", [&](Compute e) { [e dispatchThreadgroups:empty threadsPerThreadgroup:size(1)]; });
    expect_in_compute("compute", [&](Compute e) { [e dispatchThreads:empty threadsPerThreadgroup:size(1)]; });
    expect_in_compute("compute", [&](Compute e) { [e dispatchThreadgroups:size(1) threadsPerThreadgroup:empty]; });
  }
}

TEST_F(SimMetalCalls, ThreadgroupsFitThePipeline) {
  expect_in_compute("compute", [](Compute e) { [e dispatchThreadgroups:size(1) threadsPerThreadgroup:size(1024, 2)]; });
}

TEST_F(SimMetalCalls, CountsLieAlignedWithinTheirBuffer) {
  const auto indirect = [](id<MTLBuffer> counts, NSUInteger offset) {
    return [=](Compute e) {
      [e dispatchThreadgroupsWithIndirectBuffer:counts indirectBufferOffset:offset threadsPerThreadgroup:size(1)];
    };
  };
  expect_in_compute("compute", indirect(nil, 0));
  expect_in_compute("alignment", indirect(a, 2));
  expect_in_compute("bounds", indirect(a, 56));
  expect_in_compute("bounds", indirect(a, NSUIntegerMax - 3));
}

TEST_F(SimMetalCalls, DebugGroupsAreBalanced) {
  expect_in_compute("encoder", [](Compute e) { [e popDebugGroup]; });
  expect_in_compute("encoder", [](Compute e) { [e pushDebugGroup:@"open"]; });
}

TEST_F(SimMetalCalls, FencesAreWaitedForFirstOfAll) {
  id<MTLFence> fence = [device newFence];
  expect_in_compute("fence", [&](Compute e) { [e waitForFence:fence]; });
  compute([&](Compute e) {
    [e waitForFence:fence];
    set_bytes(e, set, a, {0, 4, 1});
    [e updateFence:fence];
  });
  expect_no_finding();
  [fence release];
}

TEST_F(SimMetalCalls, AQueueTakesSoManyCommandBuffersAtATime) {
  id<MTLCommandQueue> narrow = [device newCommandQueueWithMaxCommandBufferCount:2];
  @autoreleasepool {
    (void)[narrow commandBuffer];
    (void)[narrow commandBuffer];
    expect_no_finding();
    (void)[narrow commandBuffer];
    expect_finding("queue");
  }
  [narrow release];
}

TEST_F(SimMetalCalls, HandlersComeBeforeTheCommitAndWaitsAfterIt) {
  const MTLCommandBufferHandler nothing = ^(Commands done) {
    (void)done;
  };
  expect_in_commands("command buffer", nullptr, [&](Commands c) { [c addScheduledHandler:nothing]; });
  expect_in_commands("command buffer", nullptr, [&](Commands c) { [c addCompletedHandler:nothing]; });
  expect_in_commands("command buffer", [](Commands c) { [c waitUntilScheduled]; }, nullptr);
  expect_in_commands("command buffer", [](Commands c) { [c waitUntilCompleted]; }, nullptr);
}

TEST_F(SimMetalCalls, ACommandBufferTakesNothingAfterItsCommit) {
  id<MTLEvent> event = [device newEvent];
  expect_in_commands("command buffer", nullptr, [](Commands c) { [c commit]; });
  expect_in_commands("command buffer", nullptr, [](Commands c) { (void)[c blitCommandEncoder]; });
  expect_in_commands("command buffer", nullptr, [](Commands c) { (void)[c computeCommandEncoder]; });
  expect_in_commands("command buffer", nullptr, [&](Commands c) { [c encodeSignalEvent:event value:1]; });
  expect_in_commands("command buffer", nullptr, [&](Commands c) { [c encodeWaitForEvent:event value:1]; });
  [event release];
}

TEST_F(SimMetalCalls, ACommandBufferTakesNothingWhileAnEncoderIsOpen) {
  id<MTLEvent> event = [device newEvent];
  const auto expect_while_open = [&](const Encode& call) {
    run([&](Commands commands) {
      id<MTLBlitCommandEncoder> e = [commands blitCommandEncoder];
      [e fillBuffer:a range:NSMakeRange(0, 4) value:1];
      call(commands);
      expect_finding("command buffer");
      [e endEncoding];
    });
  };
  expect_while_open([](Commands c) { [c commit]; });
  expect_while_open([](Commands c) { (void)[c blitCommandEncoder]; });
  expect_while_open([](Commands c) { (void)[c computeCommandEncoder]; });
  expect_while_open([&](Commands c) { [c encodeSignalEvent:event value:1]; });
  expect_while_open([&](Commands c) { [c encodeWaitForEvent:event value:1]; });
  [event release];
}

TEST_F(SimMetalCalls, ArgumentBuffersAreWrittenWhereTheyLie) {
  id<MTLBuffer> arguments = buffer(64), hidden = buffer(64, MTLResourceStorageModePrivate);
  auto encoder = argument_encoder("add_pair", 0);
  [encoder setBuffer:a offset:0 atIndex:0];  // into no buffer
  expect_finding("argument");
  [encoder setArgumentBuffer:nil offset:0];
  expect_finding("argument");
  [encoder setArgumentBuffer:arguments offset:4];
  expect_finding("alignment");
  [encoder setArgumentBuffer:arguments offset:56];
  expect_finding("bounds");
  [encoder setArgumentBuffer:hidden offset:0];
  expect_finding("storage");
  [encoder setArgumentBuffer:arguments offset:0];
  expect_no_finding();
  [encoder setBuffer:a offset:0 atIndex:2];
  expect_finding("argument");
  [encoder setBuffer:a offset:64 atIndex:0];
  expect_finding("bounds");
  EXPECT_EQ([encoder constantDataAtIndex:0], nullptr);  // a pointer lies there
  expect_finding("argument");
  EXPECT_EQ(argument_encoder("set_bytes", 0), nil);
  expect_finding("argument");
}

TEST_F(SimMetalCalls, BuffersHaveASizeThatTheDeviceTakes) {
  for (const NSUInteger length : {NSUInteger{0}, device.maxBufferLength + 1}) {
    EXPECT_EQ([device newBufferWithLength:length options:MTLResourceStorageModeShared], nil);
    expect_finding("resource");
  }
}

TEST_F(SimMetalCalls, MemoryOfTheHostComesInWholePages) {
  constexpr NSUInteger page = 4096;
  void* const pages = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const auto import = [&](NSUInteger offset, NSUInteger length) {
    return [device newBufferWithBytesNoCopy:static_cast<char*>(pages) + offset
                                     length:length
                                    options:MTLResourceStorageModeShared
                                deallocator:nil];
  };
  EXPECT_EQ(import(64, page), nil);
  expect_finding("resource");
  EXPECT_EQ(import(0, 64), nil);
  expect_finding("resource");
  [import(page, page) release];
  expect_no_finding();
  munmap(pages, 2 * page);
}

TEST_F(SimMetalCalls, OnlyManagedBuffersAreSynchronised) {
  id<MTLBuffer> managed = buffer(64, MTLResourceStorageModeManaged);
  [a didModifyRange:NSMakeRange(0, 4)];
  expect_finding("storage");
  [managed didModifyRange:NSMakeRange(60, 8)];
  expect_finding("bounds");
  blit([&](id<MTLBlitCommandEncoder> e) {
    [e fillBuffer:managed range:NSMakeRange(0, 4) value:1];
    [e synchronizeResource:managed];
  });
  expect_no_finding();
  blit([&](id<MTLBlitCommandEncoder> e) {
    [e fillBuffer:a range:NSMakeRange(0, 4) value:1];
    [e synchronizeResource:a];
  });
  expect_finding("storage");
}

TEST_F(SimMetalCalls, ACommandBufferThatWaitsForItsOwnLaterSignalIsADeadlock) {
  sim_metal::configure({.event_timeout_ms = 20});
  id<MTLEvent> event = [device newEvent];
  EXPECT_EQ(run([&](Commands commands) {
              [commands encodeWaitForEvent:event value:1];
              [commands encodeSignalEvent:event value:1];
            }),
            MTLCommandBufferErrorTimeout);
  [event release];
  expect_finding("deadlock");
}
