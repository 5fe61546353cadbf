// SPDX-License-Identifier: Apache-2.0
// The software Metal: what orders work of several queues, and what only happens to come one after the other.
#include <unistd.h>

#include "metal_sim_fixture.h"

namespace {

class SimMetalQueues : public SimMetal {
 protected:
  void SetUp() override {
    SimMetal::SetUp();
    second = [device newCommandQueue];
    memory = buffer(64);
    set = pipeline("set_bytes");
  }
  void TearDown() override {
    [second release];
    SimMetal::TearDown();
  }

  /// A command buffer that writes the memory.
  id<MTLCommandBuffer> write(id<MTLCommandQueue> on, uint32_t value = 1) {
    id<MTLCommandBuffer> commands = [on commandBuffer];
    id<MTLComputeCommandEncoder> e = [commands computeCommandEncoder];
    set_bytes(e, set, memory, {0, 64, value});
    [e endEncoding];
    return commands;
  }
  using Make = std::function<id<MTLCommandBuffer>()>;
  /// Commits what `make` gives and comes back when it is gone.
  static void run(const Make& make, bool wait) {
    const long live = sim_metal::live_objects();
    @autoreleasepool {
      id<MTLCommandBuffer> commands = make();
      [commands commit];
      if (wait) [commands waitUntilCompleted];
    }
    for (int i = 0; i < 10000 && sim_metal::live_objects() != live; ++i) usleep(100);
    ASSERT_EQ(sim_metal::live_objects(), live);
  }
  /// It is over then, but the host has not asked.
  static void run_unasked(const Make& make) { run(make, false); }
  void write_unasked(id<MTLCommandQueue> on) {
    run_unasked([&] { return write(on); });
  }
  void write_and_wait(id<MTLCommandQueue> on) {
    run([&] { return write(on); }, true);
  }

  id<MTLCommandQueue> second = nil;
  id<MTLBuffer> memory = nil;
  id<MTLComputePipelineState> set = nil;
};

}  // namespace

TEST_F(SimMetalQueues, WorkThatHappensToBeOverIsNotOrdered) {
  write_unasked(queue);
  write_and_wait(second);
  expect_finding("hazard");
}

TEST_F(SimMetalQueues, AWaitOfTheHostOrdersQueues) {
  write_and_wait(queue);
  write_and_wait(second);
  expect_no_finding();
}

TEST_F(SimMetalQueues, ACompletedHandlerOrdersQueues) {
  run_unasked([&] {
    id<MTLCommandBuffer> commands = write(queue);
    [commands addCompletedHandler:^(id<MTLCommandBuffer> done) {
      (void)done;
    }];
    return commands;
  });
  write_and_wait(second);
  expect_no_finding();
}

TEST_F(SimMetalQueues, AStatusThatTheHostHasSeenOrdersQueues) {
  @autoreleasepool {
    id<MTLCommandBuffer> commands = write(queue);
    [commands commit];
    while (commands.status < MTLCommandBufferStatusCompleted) usleep(100);
    write_and_wait(second);
  }
  expect_no_finding();
}

TEST_F(SimMetalQueues, ASignalOrdersQueuesOnceTheHostHasSeenIt) {
  id<MTLSharedEvent> event = [device newSharedEvent];
  const auto signal = [&](uint64_t value) {
    run_unasked([&] {
      id<MTLCommandBuffer> commands = write(queue);
      [commands encodeSignalEvent:event value:value];
      return commands;
    });
  };
  signal(1);
  write_and_wait(second);
  expect_finding("hazard");
  signal(2);
  EXPECT_EQ(event.signaledValue, 2U);
  write_and_wait(second);
  expect_no_finding();

  MTLSharedEventListener* listener = [MTLSharedEventListener new];
  [event notifyListener:listener
                atValue:3
                  block:^(id<MTLSharedEvent> e, uint64_t value) {
                    (void)e;
                    (void)value;
                  }];
  signal(3);
  write_and_wait(second);
  expect_no_finding();
  [listener release];
  [event release];
}

TEST_F(SimMetalQueues, AWaitForAnEarlierValueDoesNotCoverALaterSignal) {
  id<MTLSharedEvent> event = [device newSharedEvent];
  const auto hand_over = [&](uint64_t signalled, uint64_t waited) {
    run_unasked([&] {
      id<MTLCommandBuffer> commands = [queue commandBuffer];
      [commands encodeSignalEvent:event value:signalled - 1];
      id<MTLComputeCommandEncoder> e = [commands computeCommandEncoder];
      set_bytes(e, set, memory, {0, 64, 1});
      [e endEncoding];
      [commands encodeSignalEvent:event value:signalled];
      return commands;
    });
    const auto wait = [&] {
      id<MTLCommandBuffer> commands = [second commandBuffer];
      [commands encodeWaitForEvent:event value:waited];
      id<MTLComputeCommandEncoder> e = [commands computeCommandEncoder];
      set_bytes(e, set, memory, {0, 64, 2});
      [e endEncoding];
      return commands;
    };
    run(wait, true);
  };
  hand_over(2, 2);
  expect_no_finding();
  hand_over(4, 3);
  expect_finding("hazard");
  [event release];
}

TEST_F(SimMetalQueues, AReaderOfOneQueueIsNotHiddenByOneOfTheOther) {
  auto get = pipeline("get_bytes");
  for (id<MTLCommandQueue> on : {queue, second}) {
    id<MTLBuffer> to = buffer(64);
    run_unasked([&] {
      id<MTLCommandBuffer> commands = [on commandBuffer];
      id<MTLComputeCommandEncoder> e = [commands computeCommandEncoder];
      get_bytes(e, get, memory, to, {0, 64, 0});
      [e endEncoding];
      return commands;
    });
  }
  expect_no_finding();
  write_and_wait(second);
  expect_finding("hazard");
}

TEST_F(SimMetalQueues, WhatACommandBufferWaitsForTheNextOnesOfItsQueueComeAfter) {
  id<MTLSharedEvent> event = [device newSharedEvent];
  run_unasked([&] {
    id<MTLCommandBuffer> commands = write(queue);
    [commands encodeSignalEvent:event value:1];
    return commands;
  });
  run_unasked([&] {
    id<MTLCommandBuffer> commands = [second commandBuffer];
    [commands encodeWaitForEvent:event value:1];
    return commands;
  });
  write_and_wait(second);
  expect_no_finding();
  [event release];
}

TEST_F(SimMetalQueues, ASignalCoversTheCommandBuffersBeforeItsOwn) {
  id<MTLSharedEvent> event = [device newSharedEvent];
  write_unasked(queue);
  run_unasked([&] {
    id<MTLCommandBuffer> commands = [queue commandBuffer];
    [commands encodeSignalEvent:event value:1];
    return commands;
  });
  EXPECT_EQ(event.signaledValue, 1U);
  write_and_wait(second);
  expect_no_finding();
  [event release];
}

TEST_F(SimMetalQueues, CommandBuffersOfOneQueueAreOrderedByTheirCommits) {
  @autoreleasepool {
    id<MTLCommandBuffer> encoded_first = write(queue, 1), encoded_last = write(queue, 2);
    [encoded_last commit];
    [encoded_first commit];
    [encoded_first waitUntilCompleted];
  }
  expect_no_finding();
  EXPECT_EQ(static_cast<const uint8_t*>([memory contents])[0], 1);
}
