// SPDX-License-Identifier: Apache-2.0
// The software Metal: blits, misuse of encoders and command buffers, events, faults.
#include "metal_sim_fixture.h"

namespace {

class SimMetalEncoders : public SimMetal {
 protected:
  using Blit = std::function<void(id<MTLBlitCommandEncoder>)>;
  /// One call beside a blit that is in order.
  void blit_beside(const Blit& call) {
    id<MTLBuffer> other = buffer(64);
    blit([&](id<MTLBlitCommandEncoder> e) {
      [e fillBuffer:other range:NSMakeRange(0, 4) value:1];
      call(e);
    });
  }
};

}  // namespace

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
  const auto fill = [&](NSUInteger offset, NSUInteger size) -> Blit {
    return [=](id<MTLBlitCommandEncoder> e) { [e fillBuffer:a range:NSMakeRange(offset, size) value:1]; };
  };
  const auto copy = [&](NSUInteger from, NSUInteger to, NSUInteger size) -> Blit {
    return [=](id<MTLBlitCommandEncoder> e) {
      [e copyFromBuffer:a sourceOffset:from toBuffer:b destinationOffset:to size:size];
    };
  };
  for (const Blit& unaligned : {fill(2, 8), fill(4, 6), copy(1, 0, 4), copy(0, 2, 4), copy(0, 0, 3)}) {
    sim_metal::configure({.alignment = sim_metal::AlignmentRule::mac});
    blit_beside(unaligned);
    expect_finding("alignment");
    sim_metal::configure({.alignment = sim_metal::AlignmentRule::apple});
    blit_beside(unaligned);
    expect_no_finding();
  }
}

TEST_F(SimMetalEncoders, BlitsPastTheEndAreFound) {
  id<MTLBuffer> a = buffer(64), b = buffer(64);
  const auto expect_found = [&](const Blit& call) {
    blit_beside(call);
    expect_finding("bounds");
  };
  constexpr NSUInteger last = NSUIntegerMax - 3;  // the end would be past what 64 bits hold
  for (const auto& [offset, size] : {std::pair<NSUInteger, NSUInteger>{60, 8}, {4, last}, {last, 8}, {68, 4}}) {
    expect_found([&](id<MTLBlitCommandEncoder> e) { [e fillBuffer:a range:NSRange{offset, size} value:1]; });
    expect_found([&](id<MTLBlitCommandEncoder> e) {
      [e copyFromBuffer:a sourceOffset:offset toBuffer:b destinationOffset:0 size:size];
    });
    expect_found([&](id<MTLBlitCommandEncoder> e) {
      [e copyFromBuffer:b sourceOffset:0 toBuffer:a destinationOffset:offset size:size];
    });
  }
}

TEST_F(SimMetalEncoders, OverlappingEmptyAndNilBlitsAreFound) {
  id<MTLBuffer> a = buffer(64);
  const auto expect_found = [&](const Blit& call) {
    blit_beside(call);
    expect_finding("blit");
  };
  const auto copy = [&](NSUInteger from, NSUInteger to, NSUInteger size) -> Blit {
    return [=](id<MTLBlitCommandEncoder> e) {
      [e copyFromBuffer:a sourceOffset:from toBuffer:a destinationOffset:to size:size];
    };
  };
  expect_found(copy(0, 4, 8));
  expect_found(copy(4, 0, 8));
  expect_found(copy(0, 32, 0));
  expect_found([&](id<MTLBlitCommandEncoder> e) { [e fillBuffer:a range:NSMakeRange(0, 0) value:1]; });
  expect_found([&](id<MTLBlitCommandEncoder> e) { [e fillBuffer:nil range:NSMakeRange(0, 4) value:1]; });
  for (id<MTLBuffer> from : {a, id<MTLBuffer>(nil)}) {
    expect_found([&](id<MTLBlitCommandEncoder> e) {
      [e copyFromBuffer:from sourceOffset:0 toBuffer:from == nil ? a : nil destinationOffset:0 size:4];
    });
  }
  blit_beside(copy(0, 8, 8));
  expect_no_finding();
}

TEST_F(SimMetalEncoders, EncodersAreEndedOnceAndNotUsedAfterwards) {
  id<MTLBuffer> a = buffer(64);
  run([&](id<MTLCommandBuffer> commands) {
    id<MTLBlitCommandEncoder> e = [commands blitCommandEncoder];
    [e fillBuffer:a range:NSMakeRange(0, 4) value:1];
    [e endEncoding];
    [e endEncoding];
    expect_finding("encoder");
    [e fillBuffer:a range:NSMakeRange(0, 4) value:1];
    expect_finding("encoder");
  });
}

TEST_F(SimMetalEncoders, EncodersThatAreNeverEndedAreFound) {
  id<MTLBuffer> a = buffer(64);
  @autoreleasepool {
    [[[queue commandBuffer] blitCommandEncoder] fillBuffer:a range:NSMakeRange(0, 4) value:1];
  }
  expect_finding("encoder");
}

TEST_F(SimMetalEncoders, EmptyEncodersAreFound) {
  run([&](id<MTLCommandBuffer> commands) { [[commands computeCommandEncoder] endEncoding]; });
  expect_finding("encoder");
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
