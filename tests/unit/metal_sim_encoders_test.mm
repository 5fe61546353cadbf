// SPDX-License-Identifier: Apache-2.0
// The software Metal: blits, misuse of encoders and command buffers, events, faults.
#include "metal_sim_fixture.h"

using SimMetalEncoders = SimMetal;

TEST_F(SimMetalEncoders, BlitsFillAndCopyTheirBytesOnly) {
  id<MTLBuffer> a = buffer(64), b = buffer(64);
  EXPECT_EQ(blit([&](id<MTLBlitCommandEncoder> e) {
              [e fillBuffer:a range:NSMakeRange(4, 8) value:0xEE];
              [e copyFromBuffer:a sourceOffset:0 toBuffer:b destinationOffset:32 size:16];
            }),
            0);
  const auto* bytes = static_cast<const uint8_t*>([b contents]);
  EXPECT_EQ(bytes[35], 0);
  EXPECT_EQ(bytes[36], 0xEE);
  EXPECT_EQ(bytes[43], 0xEE);
  EXPECT_EQ(bytes[44], 0);
  const auto counts = sim_metal::counts();
  EXPECT_EQ(counts.blit_encoders, 1U);
  EXPECT_EQ(counts.fills, 1U);
  EXPECT_EQ(counts.copies, 1U);
}

TEST_F(SimMetalEncoders, MacBlitsNeedMultiplesOfFourAndAppleOnesDoNot) {
  id<MTLBuffer> a = buffer(64), b = buffer(64);
  const auto unaligned = [&](id<MTLBlitCommandEncoder> e) {
    [e fillBuffer:a range:NSMakeRange(2, 8) value:1];
    [e copyFromBuffer:a sourceOffset:0 toBuffer:b destinationOffset:1 size:4];
    [e fillBuffer:a range:NSMakeRange(0, 4) value:1];
  };
  blit(unaligned);
  expect_finding("alignment");
  sim_metal::Settings apple;
  apple.alignment = sim_metal::AlignmentRule::apple;
  sim_metal::configure(apple);
  blit(unaligned);
  expect_no_finding();
}

TEST_F(SimMetalEncoders, BlitsPastTheEndAreFound) {
  id<MTLBuffer> a = buffer(64);
  blit([&](id<MTLBlitCommandEncoder> e) {
    [e fillBuffer:a range:NSMakeRange(0, 4) value:1];
    [e fillBuffer:a range:NSMakeRange(60, 8) value:1];
    [e copyFromBuffer:a sourceOffset:0 toBuffer:a destinationOffset:32 size:64];
  });
  expect_finding("bounds");
}

TEST_F(SimMetalEncoders, OverlappingAndEmptyBlitsAreFound) {
  id<MTLBuffer> a = buffer(64);
  blit([&](id<MTLBlitCommandEncoder> e) {
    [e fillBuffer:a range:NSMakeRange(0, 4) value:1];
    [e copyFromBuffer:a sourceOffset:0 toBuffer:a destinationOffset:4 size:8];
    [e fillBuffer:a range:NSMakeRange(0, 0) value:1];
  });
  expect_finding("blit");
}

TEST_F(SimMetalEncoders, EncodersAreEndedOnceAndNotUsedAfterwards) {
  id<MTLBuffer> a = buffer(64);
  @autoreleasepool {
    id<MTLCommandBuffer> commands = [queue commandBuffer];
    id<MTLBlitCommandEncoder> e = [commands blitCommandEncoder];
    [e fillBuffer:a range:NSMakeRange(0, 4) value:1];
    [e endEncoding];
    [e endEncoding];
    expect_finding("encoder");
    [e fillBuffer:a range:NSMakeRange(0, 4) value:1];
    expect_finding("encoder");
    (void)[commands blitCommandEncoder];
  }
  expect_finding("encoder");
}

TEST_F(SimMetalEncoders, EmptyEncodersAreFound) {
  run([&](id<MTLCommandBuffer> commands) { [[commands computeCommandEncoder] endEncoding]; });
  expect_finding("encoder");
}

TEST_F(SimMetalEncoders, CommandBuffersTakeOneEncoderAtATimeAndOneCommit) {
  id<MTLBuffer> a = buffer(64);
  id<MTLEvent> event = [device newEvent];
  @autoreleasepool {
    id<MTLCommandBuffer> commands = [queue commandBuffer];
    id<MTLBlitCommandEncoder> e = [commands blitCommandEncoder];
    [commands encodeSignalEvent:event value:9];
    expect_finding("command buffer");
    (void)[commands computeCommandEncoder];
    expect_finding("command buffer");
    [commands commit];
    expect_finding("command buffer");
    [e fillBuffer:a range:NSMakeRange(0, 4) value:1];
    [e endEncoding];
    [commands commit];
    [commands commit];
    [commands waitUntilCompleted];
  }
  [event release];
  expect_finding("command buffer");
}

TEST_F(SimMetalEncoders, AnEventThatNobodySignalsIsADeadlock) {
  sim_metal::Settings hasty;
  hasty.event_timeout_ms = 20;
  sim_metal::configure(hasty);
  id<MTLEvent> event = [device newEvent];
  EXPECT_EQ(run([&](id<MTLCommandBuffer> commands) { [commands encodeWaitForEvent:event value:1000]; }),
            MTLCommandBufferErrorTimeout);
  [event release];
  expect_finding("deadlock");
}

TEST_F(SimMetalEncoders, SharedEventsNotifyTheHostAndTakeItsSignals) {
  id<MTLSharedEvent> event = [device newSharedEvent];
  MTLSharedEventListener* listener = [MTLSharedEventListener new];
  __block uint64_t seen = 0;
  [event notifyListener:listener
                atValue:5
                  block:^(id<MTLSharedEvent> e, uint64_t value) {
                    (void)e;
                    seen = value;
                  }];
  event.signaledValue = 3;
  EXPECT_EQ(seen, 0U);
  run([&](id<MTLCommandBuffer> commands) { [commands encodeSignalEvent:event value:7]; });
  EXPECT_EQ(seen, 7U);
  EXPECT_EQ(event.signaledValue, 7U);
  [listener release];
  [event release];
}

TEST_F(SimMetalEncoders, CompletionHandlersRunOnceAndKeepWhatTheyCapture) {
  id<MTLBuffer> a = buffer(64);
  int calls = 0;
  int* const counter = &calls;
  NSObject* token = [NSObject new];
  run([&](id<MTLCommandBuffer> commands) {
    id<MTLBlitCommandEncoder> e = [commands blitCommandEncoder];
    [e fillBuffer:a range:NSMakeRange(0, 64) value:1];
    [e endEncoding];
    [commands addCompletedHandler:^(id<MTLCommandBuffer> done) {
      *counter += done.status == MTLCommandBufferStatusCompleted && [token retainCount] > 0 ? 1 : 100;
    }];
    EXPECT_EQ(static_cast<const uint8_t*>([a contents])[0], 0) << "nothing runs before commit";
  });
  EXPECT_EQ(calls, 1);
  [token release];
}

TEST_F(SimMetalEncoders, FaultsHitTheCallTheyWereAimedAt) {
  sim_metal::fail_call(1);
  id<MTLBuffer> first = [device newBufferWithLength:64 options:MTLResourceStorageModeShared];
  id<MTLBuffer> second = [device newBufferWithLength:64 options:MTLResourceStorageModeShared];
  id<MTLBuffer> third = [device newBufferWithLength:64 options:MTLResourceStorageModeShared];
  EXPECT_NE(first, nil);
  EXPECT_EQ(second, nil);
  EXPECT_NE(third, nil);
  sim_metal::fail_command_buffer(0, MTLCommandBufferErrorOutOfMemory);
  const auto fill = [&](id<MTLBlitCommandEncoder> e) { [e fillBuffer:first range:NSMakeRange(0, 4) value:1]; };
  EXPECT_EQ(blit(fill), MTLCommandBufferErrorOutOfMemory);
  EXPECT_EQ(blit(fill), 0);
  [first release];
  [third release];
}

TEST_F(SimMetalEncoders, ThePrivateMemoryOfADiscreteDeviceHasNoHostAddress) {
  id<MTLBuffer> a = buffer(64, MTLResourceStorageModePrivate);
  EXPECT_EQ([a contents], nullptr);
  expect_finding("storage");
}
