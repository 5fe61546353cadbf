// SPDX-License-Identifier: Apache-2.0
// The software Metal: what a command buffer without retained references needs and is freed too early, and what
// command buffers with them keep.
#include <unistd.h>

#include "metal_sim_fixture.h"

namespace {

class SimMetalLifetimes : public SimMetal {
 protected:
  using Make = std::function<id()>;
  using EncodeWith = std::function<void(id<MTLCommandBuffer>, id)>;

  void SetUp() override {
    SimMetal::SetUp();
    memory = buffer(256);
    set = pipeline("set_bytes");
  }

  /// Encodes with a new object, which is released before the commands run, or when they have run and what follows in
  /// their command buffer has not. Gives the error code.
  NSInteger run_without(const Make& make, const EncodeWith& encode, bool has_run, bool retained) {
    id<MTLSharedEvent> ran = [device newSharedEvent], gate = [device newSharedEvent];
    id object = make();
    NSInteger code = 0;
    @autoreleasepool {
      id<MTLCommandBuffer> commands = retained ? [queue commandBuffer] : [queue commandBufferWithUnretainedReferences];
      encode(commands, object);
      [commands encodeSignalEvent:ran value:1];
      [commands encodeWaitForEvent:gate value:1];
      if (!has_run) [object release];
      [commands commit];
      while (has_run && ran.signaledValue != 1) usleep(100);
      if (has_run) [object release];
      gate.signaledValue = 1;
      [commands waitUntilCompleted];
      if (commands.error != nil) code = [commands.error code];
    }
    [ran release];
    [gate release];
    return code;
  }
  void expect_found(const Make& make, const EncodeWith& encode) {
    for (const bool has_run : {false, true}) {
      EXPECT_EQ(run_without(make, encode, has_run, true), 0);
      expect_no_finding();
      EXPECT_EQ(run_without(make, encode, has_run, false), MTLCommandBufferErrorInvalidResource);
      expect_finding("lifetime");
    }
  }
  Make a_buffer() {
    return [this] {
      id<MTLBuffer> made = [device newBufferWithLength:256 options:MTLResourceStorageModeShared];
      std::memset([made contents], 0, 256);
      return made;
    };
  }
  static EncodeWith in_blits(const std::function<void(id<MTLBlitCommandEncoder>, id)>& encode) {
    return [=](id<MTLCommandBuffer> commands, id object) {
      id<MTLBlitCommandEncoder> e = [commands blitCommandEncoder];
      encode(e, object);
      [e endEncoding];
    };
  }
  static EncodeWith in_dispatches(const std::function<void(id<MTLComputeCommandEncoder>, id)>& encode) {
    return [=](id<MTLCommandBuffer> commands, id object) {
      id<MTLComputeCommandEncoder> e = [commands computeCommandEncoder];
      encode(e, object);
      [e endEncoding];
    };
  }

  id<MTLBuffer> memory = nil;
  id<MTLComputePipelineState> set = nil;
};

}  // namespace

TEST_F(SimMetalLifetimes, TheBufferOfAFill) {
  expect_found(a_buffer(), in_blits([](id<MTLBlitCommandEncoder> e, id object) {
                 [e fillBuffer:object range:NSMakeRange(0, 64) value:1];
               }));
}

TEST_F(SimMetalLifetimes, TheBuffersOfACopy) {
  for (const bool is_source : {false, true}) {
    expect_found(a_buffer(), in_blits([&](id<MTLBlitCommandEncoder> e, id object) {
                   [e copyFromBuffer:is_source ? object : memory
                            sourceOffset:0
                                toBuffer:is_source ? memory : object
                       destinationOffset:0
                                    size:64];
                 }));
  }
}

TEST_F(SimMetalLifetimes, ABoundBuffer) {
  expect_found(a_buffer(),
               in_dispatches([&](id<MTLComputeCommandEncoder> e, id object) { set_bytes(e, set, object, {0, 4, 1}); }));
}

TEST_F(SimMetalLifetimes, AResidentBuffer) {
  expect_found(a_buffer(), in_dispatches([&](id<MTLComputeCommandEncoder> e, id object) {
                 [e useResource:object usage:MTLResourceUsageRead];
                 set_bytes(e, set, memory, {0, 4, 1});
               }));
}

TEST_F(SimMetalLifetimes, TheCountsOfAnIndirectDispatch) {
  expect_found(a_buffer(), in_dispatches([&](id<MTLComputeCommandEncoder> e, id object) {
                 const SetBytes what{0, 1, 1};
                 [e setComputePipelineState:set];
                 [e setBuffer:memory offset:0 atIndex:0];
                 [e setBytes:&what length:sizeof what atIndex:1];
                 [e dispatchThreadgroupsWithIndirectBuffer:object
                                      indirectBufferOffset:0
                                     threadsPerThreadgroup:MTLSizeMake(1, 1, 1)];
               }));
}

TEST_F(SimMetalLifetimes, APipelineState) {
  @autoreleasepool {
    id<MTLFunction> function = [library newFunctionWithName:@"set_bytes"];
    expect_found(
        [&] { return [device newComputePipelineStateWithFunction:function error:nil]; },
        in_dispatches([&](id<MTLComputeCommandEncoder> e, id object) { set_bytes(e, object, memory, {0, 4, 1}); }));
    [function release];
  }
}

TEST_F(SimMetalLifetimes, APipelineStateThatIsGoneWhenItIsUsed) {
  @autoreleasepool {
    id<MTLFunction> function = [library newFunctionWithName:@"set_bytes"];
    id<MTLComputePipelineState> state = [device newComputePipelineStateWithFunction:function error:nil];
    id<MTLCommandBuffer> commands = [queue commandBufferWithUnretainedReferences];
    id<MTLComputeCommandEncoder> e = [commands computeCommandEncoder];
    set_bytes(e, state, memory, {0, 4, 1});
    [state release];
    [e dispatchThreadgroups:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(1, 1, 1)];
    [e endEncoding];
    [function release];
  }
  expect_finding("lifetime");
}

TEST_F(SimMetalLifetimes, AFence) {
  for (const bool waits : {false, true}) {
    expect_found([&] { return [device newFence]; }, in_dispatches([&](id<MTLComputeCommandEncoder> e, id object) {
                   if (waits) [e waitForFence:object];
                   set_bytes(e, set, memory, {0, 4, 1});
                   if (!waits) [e updateFence:object];
                 }));
  }
}

TEST_F(SimMetalLifetimes, AnEvent) {
  expect_found([&] { return [device newEvent]; },
               [](id<MTLCommandBuffer> commands, id object) { [commands encodeSignalEvent:object value:1]; });
}

TEST_F(SimMetalLifetimes, ABufferThatWasBoundForAnEarlierDispatch) {
  expect_found(a_buffer(), in_dispatches([&](id<MTLComputeCommandEncoder> e, id object) {
                 [e setBuffer:object offset:0 atIndex:7];
                 set_bytes(e, set, memory, {0, 4, 1});
               }));
}
