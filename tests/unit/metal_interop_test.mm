// SPDX-License-Identifier: Apache-2.0
// Native Metal objects in and out.
#import <Metal/Metal.h>
#include <gtest/gtest.h>

#include <numeric>

#include "backend/completion.hpp"
#include "metal_kernels.hpp"
#include "pianola/interop/metal.hpp"
#include "sim_metal.hpp"

namespace pianola::metal_test {
namespace interop = pianola::interop::metal;

TEST(MetalInterop, HandlesComeOutOfMetalObjectsOnly) {
  sim_metal::configure({});
  const auto metal = *Device::open("metal");
  const auto cpu = *Device::open("cpu");
  EXPECT_NE(interop::native_device(metal), nullptr);
  EXPECT_NE(interop::native_queue(metal.queue()), nullptr);
  EXPECT_NE(interop::native_buffer(*metal.allocate(64)), nullptr);
  EXPECT_EQ(interop::native_device(cpu), nullptr);
  EXPECT_EQ(interop::native_queue(cpu.queue()), nullptr);
  EXPECT_EQ(interop::native_buffer(*cpu.allocate(64)), nullptr);
  EXPECT_FALSE(interop::import_buffer(cpu, interop::native_buffer(*metal.allocate(64))));
}

TEST(MetalInterop, AnImportedBufferIsTheSameMemory) {
  const auto device = *Device::open("metal");
  auto native = (id<MTLDevice>)interop::native_device(device);
  id<MTLBuffer> buffer = [native newBufferWithLength:64 options:MTLResourceStorageModeShared];
  auto imported = interop::import_buffer(device, buffer);
  ASSERT_TRUE(imported) << to_string(imported.error());
  [buffer release];
  Recorder rec;
  rec.fill(rec.buffer(*imported), 0x01020304U);
  ASSERT_TRUE((*device.queue().run(*rec.finish())).wait());
  EXPECT_EQ(static_cast<const uint32_t*>([buffer contents])[15], 0x01020304U);
}

TEST(MetalInterop, APrivateBufferOfAnySizeIsReadAndWrittenToItsLastByte) {
  for (const auto alignment : {sim_metal::AlignmentRule::mac, sim_metal::AlignmentRule::apple}) {
    sim_metal::configure({.alignment = alignment});
    sim_metal::take_findings();
    const auto device = *Device::open("metal");
    auto native = (id<MTLDevice>)interop::native_device(device);
    for (const MTLResourceOptions storage : {MTLResourceStorageModePrivate, MTLResourceStorageModeManaged}) {
      id<MTLBuffer> buffer = [native newBufferWithLength:21 options:storage];
      auto imported = *interop::import_buffer(device, buffer);
      [buffer release];
      std::vector<uint8_t> bytes(21), back(21);
      std::iota(bytes.begin(), bytes.end(), uint8_t{1});
      EXPECT_TRUE(imported.write(0, bytes));
      EXPECT_TRUE(imported.write(17, std::vector<uint8_t>{91, 92, 93, 94}));
      EXPECT_TRUE(imported.read(0, back));
      std::copy_n(std::vector<uint8_t>{91, 92, 93, 94}.begin(), 4, bytes.begin() + 17);
      EXPECT_EQ(back, bytes);
      EXPECT_TRUE(imported.read(20, std::span(back).first(1)));
      EXPECT_EQ(back[0], 94);
    }
    for (const auto& finding : sim_metal::take_findings()) ADD_FAILURE() << finding;
  }
  sim_metal::configure({});
}

TEST(MetalInterop, UntrackedBuffersAreRefused) {
  const auto device = *Device::open("metal");
  auto native = (id<MTLDevice>)interop::native_device(device);
  id<MTLBuffer> buffer = [native newBufferWithLength:64 options:MTLResourceHazardTrackingModeUntracked];
  const auto imported = interop::import_buffer(device, buffer);
  ASSERT_FALSE(imported);
  EXPECT_EQ(imported.error().code, Errc::unsupported);
  [buffer release];
}

TEST(MetalInterop, SemaphoresAndSharedEventsFollowEachOther) {
  const auto device = *Device::open("metal");
  auto native = (id<MTLDevice>)interop::native_device(device);
  id<MTLSharedEvent> event = [native newSharedEvent];
  const auto semaphore = *Semaphore::create();
  ASSERT_TRUE(interop::signal_when(semaphore, 1, event, 5));
  EXPECT_EQ(semaphore.value(), 0U);
  event.signaledValue = 5;
  EXPECT_TRUE(semaphore.wait(1));
  ASSERT_TRUE(interop::signal_event_when(event, 9, semaphore, 2));
  EXPECT_EQ(event.signaledValue, 5U);
  ASSERT_TRUE(semaphore.signal(2));
  EXPECT_EQ(event.signaledValue, 9U);
  [event release];
}

TEST(MetalInterop, ASignalThatThrowsFailsTheSemaphoreAndNotMetal) {
  const auto device = *Device::open("metal");
  auto native = (id<MTLDevice>)interop::native_device(device);
  id<MTLSharedEvent> event = [native newSharedEvent];
  const auto semaphore = *Semaphore::create();
  semaphore.state()->when_reached(1, [](const std::optional<Error>&) { throw std::bad_alloc(); });
  ASSERT_TRUE(interop::signal_when(semaphore, 1, event, 5));
  EXPECT_NO_THROW(event.signaledValue = 5);
  EXPECT_FALSE(semaphore.state()->is_reached(2));
  [event release];
}

TEST(MetalInterop, AJobThatCannotBeEncodedCompletesAfterThoseBeforeIt) {
  const auto device = *Device::open("metal");
  auto native = (id<MTLDevice>)interop::native_device(device);
  Recorder rec;
  const auto memory = *device.allocate(64);
  rec.fill(rec.buffer(memory), 1U);
  const auto graph = *device.instantiate(*rec.finish());
  id<MTLSharedEvent> event = [native newSharedEvent];
  @autoreleasepool {
    id<MTLCommandBuffer> gate = [(id<MTLCommandQueue>)interop::native_queue(device.queue()) commandBuffer];
    [gate encodeWaitForEvent:event value:1];
    [gate commit];
  }
  const auto first = *device.queue().submit(graph);
  sim_metal::fail_call(0);
  const auto second = *device.queue().submit(graph);
  EXPECT_FALSE(first.is_done());
  EXPECT_FALSE(second.is_done());
  event.signaledValue = 1;
  const auto failed = second.wait();
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Errc::out_of_memory);
  EXPECT_TRUE(first.is_done());
  EXPECT_TRUE(first.wait());
  sim_metal::clear_faults();
  [event release];
}

}  // namespace pianola::metal_test
