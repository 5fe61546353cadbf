// SPDX-License-Identifier: Apache-2.0
// Native Metal objects in and out.
#import <Metal/Metal.h>
#include <sys/mman.h>

#include <numeric>

#include "backend/completion.hpp"
#include "metal_device_test.hpp"
#include "metal_gate.hpp"
#include "metal_kernels.hpp"
#include "pianola/interop/metal.hpp"

namespace pianola::metal_test {
namespace interop = pianola::interop::metal;

using MetalInterop = MetalDeviceTest;

TEST_F(MetalInterop, HandlesComeOutOfMetalObjectsOnly) {
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

TEST_F(MetalInterop, AnImportedBufferIsTheSameMemory) {
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

TEST_F(MetalInterop, APrivateBufferOfAnySizeIsReadAndWrittenToItsLastByte) {
  for (const auto alignment : {sim_metal::AlignmentRule::mac, sim_metal::AlignmentRule::apple}) {
    sim_metal::configure({.alignment = alignment});
    device = *Device::open("metal");
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
  }
}

TEST_F(MetalInterop, UntrackedBuffersAreRefused) {
  auto native = (id<MTLDevice>)interop::native_device(device);
  id<MTLBuffer> buffer = [native newBufferWithLength:64 options:MTLResourceHazardTrackingModeUntracked];
  const auto imported = interop::import_buffer(device, buffer);
  ASSERT_FALSE(imported);
  EXPECT_EQ(imported.error().code, Errc::unsupported);
  [buffer release];
}

TEST_F(MetalInterop, MemoryOfTheHostIsImportedOnceAtATime) {
  auto native = (id<MTLDevice>)interop::native_device(device);
  constexpr size_t page = 4096;
  const auto pages = mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  auto* const bytes = static_cast<std::byte*>(pages);
  {
    const auto whole = *Buffer::import(device, {.pointer = bytes, .size = 2 * page});
    for (const size_t first : {size_t{0}, page}) {
      const auto again = Buffer::import(device, {.pointer = bytes + first, .size = 10});
      ASSERT_FALSE(again);
      EXPECT_EQ(again.error().code, Errc::unsupported);
      EXPECT_NE(again.error().message.find("another Metal buffer"), std::string::npos) << again.error().message;
    }
    EXPECT_TRUE(Buffer::import(device, {.pointer = bytes + 2 * page, .size = 10}));
    id<MTLBuffer> own = [native newBufferWithBytesNoCopy:bytes + page
                                                  length:page
                                                 options:MTLResourceStorageModeShared
                                             deallocator:nil];
    const auto second = interop::import_buffer(device, own);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, Errc::unsupported);
    [own release];
  }
  EXPECT_TRUE(Buffer::import(device, {.pointer = bytes + page, .size = 10})) << "the first import is gone";
  munmap(pages, 3 * page);
}

TEST_F(MetalInterop, AnAddressOfTheDeviceIsNoMemoryOfTheHost) {
  sim_metal::configure({.unified_memory = false, .gpu_addresses = false});
  const auto memory = *device.allocate(64);
  const auto imported = Buffer::import(device, {.pointer = memory.native_pointer(), .size = 64});
  ASSERT_FALSE(imported);
  EXPECT_EQ(imported.error().code, Errc::unsupported);
  sim_metal::configure({});
}

TEST_F(MetalInterop, ImportedPagesAreUsedInPlaceAndKeptByTheirOwner) {
  const std::shared_ptr<void> owner(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
                                    [](void* pages) { munmap(pages, 4096); });
  auto imported = *Buffer::import(device, {.pointer = owner.get(), .size = 100, .owner = owner});
  EXPECT_EQ(owner.use_count(), 2);
  Recorder rec;
  rec.fill(rec.buffer(imported), uint8_t{7});
  EXPECT_TRUE((*device.queue().run(*rec.finish())).wait());
  const auto* bytes = static_cast<const uint8_t*>(owner.get());
  EXPECT_EQ(std::vector<uint8_t>(bytes, bytes + 100), std::vector<uint8_t>(100, 7));
  EXPECT_EQ(bytes[100], 0);
  imported = Buffer();
  EXPECT_EQ(owner.use_count(), 1);
}

/// Runs add from one slot to another, over these buffers.
Result<> run_add(const Device& device, const Buffer& from, const Buffer& to) {
  Recorder rec;
  const KernelLibrary kernels = test_kernels();
  rec.dispatch(kernels["add"],
               {.groups = {1}, .constants = {1U, 16U}, .bindings = {rec.buffer("from", 64), rec.buffer("to", 64)}});
  const auto commands = rec.finish();
  if (!commands) return commands.error();
  const auto submission = device.queue().run(*commands, {.bindings = {{"from", from}, {"to", to}}});
  if (!submission) return submission.error();
  return submission->wait();
}

TEST_F(MetalInterop, BuffersAreToldApartWhetherTheDeviceTellsAddressesOrNot) {
  for (const bool unified : {true, false}) {
    for (const bool told : {true, false}) {
      sim_metal::configure({.unified_memory = unified, .argument_buffers = told, .gpu_addresses = told});
      device = *Device::open("metal");
      const auto from = *device.allocate(64), to = *device.allocate(64);
      EXPECT_TRUE(run_add(device, from, to)) << unified << told;
      // The same memory comes in again as a Metal buffer.
      const auto same = interop::import_buffer(device, interop::native_buffer(from));
      ASSERT_TRUE(same);
      EXPECT_TRUE(run_add(device, *same, to));
      for (const auto& overlapping : {from, *same}) {
        const auto result = run_add(device, from, overlapping);
        ASSERT_FALSE(result) << unified << told;
        EXPECT_EQ(result.error().code, Errc::overlap);
      }
    }
  }
}

TEST_F(MetalInterop, SemaphoresAndSharedEventsFollowEachOther) {
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

TEST_F(MetalInterop, AnEventIsKeptWhileASemaphoreFollowsIt) {
  auto native = (id<MTLDevice>)interop::native_device(device);
  id<MTLSharedEvent> event = [native newSharedEvent];
  const auto semaphore = *Semaphore::create();
  const auto before = [event retainCount];
  ASSERT_TRUE(interop::signal_when(semaphore, 1, event, 5));
  EXPECT_GT([event retainCount], before);
  event.signaledValue = 7;
  EXPECT_TRUE(semaphore.wait(1));
  EXPECT_EQ([event retainCount], before);
  [event release];
}

TEST_F(MetalInterop, AnEventThatIsFurtherAlreadyIsLeftThere) {
  auto native = (id<MTLDevice>)interop::native_device(device);
  id<MTLSharedEvent> event = [native newSharedEvent];
  const auto semaphore = *Semaphore::create();
  event.signaledValue = 9;
  ASSERT_TRUE(interop::signal_event_when(event, 5, semaphore, 1));
  ASSERT_TRUE(semaphore.signal(1));
  EXPECT_EQ(event.signaledValue, 9U);
  ASSERT_TRUE(interop::signal_when(semaphore, 2, event, 8));
  EXPECT_TRUE(semaphore.wait(2)) << "reached before it was followed";
  [event release];
}

TEST_F(MetalInterop, ASignalThatThrowsFailsTheSemaphoreAndNotMetal) {
  auto native = (id<MTLDevice>)interop::native_device(device);
  id<MTLSharedEvent> event = [native newSharedEvent];
  const auto semaphore = *Semaphore::create();
  semaphore.state()->when_reached(1, [](const std::optional<Error>&) { throw std::bad_alloc(); });
  ASSERT_TRUE(interop::signal_when(semaphore, 1, event, 5));
  EXPECT_NO_THROW(event.signaledValue = 5);
  EXPECT_EQ(semaphore.state()->wait(2, std::chrono::nanoseconds(0)).error().code, Errc::dependency_failed);
  [event release];
}

TEST_F(MetalInterop, AJobThatCannotBeEncodedCompletesAfterThoseBeforeIt) {
  Recorder rec;
  const auto memory = *device.allocate(64);
  rec.fill(rec.buffer(memory), 1U);
  const auto graph = *device.instantiate(*rec.finish());
  Gate gate(device, device.queue());
  const auto first = *device.queue().submit(graph);
  sim_metal::fail_call(0);
  const auto second = *device.queue().submit(graph);
  EXPECT_FALSE(first.is_done());
  EXPECT_FALSE(second.is_done());
  gate.open();
  const auto failed = second.wait();
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Errc::out_of_memory);
  EXPECT_TRUE(first.is_done());
  EXPECT_TRUE(first.wait());
  sim_metal::clear_faults();
}

}  // namespace pianola::metal_test
