// SPDX-License-Identifier: Apache-2.0
// Pianola beside code that calls the driver itself: memory, streams, events and graphs go in and out.
#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "driver_fixture.hpp"
#include "pianola/interop/cuda.hpp"
#include "pianola/interop/hip.hpp"

namespace pianola::test {
namespace {

/// The two vendors' names for the same things.
struct InteropFace : Face {
  const char* allocate;
  const char* free;
  const char* create_stream;
  const char* destroy_stream;
  const char* synchronize;
  const char* set_bytes;
  decltype(&interop::cuda::native_stream) native_stream;
  decltype(&interop::cuda::import_queue) import_queue;
  decltype(&interop::cuda::native_graphs) native_graphs;
  decltype(&interop::cuda::signal_when) signal_when;
};

const InteropFace interop_faces[] = {
    {faces[0], "cuMemAlloc_v2", "cuMemFree_v2", "cuStreamCreate", "cuStreamDestroy_v2", "cuStreamSynchronize",
     "cuMemsetD8Async", &interop::cuda::native_stream, &interop::cuda::import_queue, &interop::cuda::native_graphs,
     &interop::cuda::signal_when},
    {faces[1], "hipMalloc", "hipFree", "hipStreamCreateWithFlags", "hipStreamDestroy", "hipStreamSynchronize",
     "hipMemsetD8Async", &interop::hip::native_stream, &interop::hip::import_queue, &interop::hip::native_graphs,
     &interop::hip::signal_when}};

class DriverInterop : public ::testing::TestWithParam<InteropFace> {
 protected:
  static constexpr uint64_t size = 1024;

  void SetUp() override {
    prepare(sim);
    device = open(0);
    choose(device);
    stream = make<void*>(GetParam().create_stream, 0U);
  }
  void TearDown() override {
    EXPECT_EQ(native(GetParam().destroy_stream, stream), 0);
    device = {};
    expect_nothing_left(sim);
    if (GetParam().is_cuda()) (void)native("cuCtxSetCurrent", static_cast<void*>(nullptr));
  }
  Device open(int number) const { return Device::open(GetParam().spec(number), {.driver_path = sim.path()}).value(); }
  /// Makes the device current for native calls.
  void choose(const Device& on) const {
    if (void* context = interop::cuda::native_context(on)) {
      ASSERT_EQ(native("cuCtxSetCurrent", context), 0);
    } else {
      ASSERT_EQ(native("hipSetDevice", interop::hip::native_device(on)), 0);
    }
  }
  /// Calls a driver function by name.
  template <class... Arguments>
  int native(const char* name, Arguments... arguments) const {
    void* function = dlsym(dlopen(sim.path().c_str(), RTLD_NOW), name);
    return reinterpret_cast<int (*)(Arguments...)>(function)(arguments...);
  }
  template <class Made, class... Arguments>
  Made make(const char* name, Arguments... arguments) const {
    Made made{};
    EXPECT_EQ(native(name, &made, arguments...), 0) << name;
    return made;
  }
  void* allocate() const { return make<void*>(GetParam().allocate, size_t{size}); }
  void free(void* memory) const { EXPECT_EQ(native(GetParam().free, memory), 0); }
  void set_bytes(void* memory, uint8_t value, void* on) const {
    EXPECT_EQ(native(GetParam().set_bytes, memory, value, size_t{size}, on), 0);
  }
  Errc import_error(const NativeMemory& memory) const {
    const Result<Buffer> buffer = Buffer::import(device, memory);
    EXPECT_FALSE(buffer);
    return buffer ? Errc{} : buffer.error().code;
  }
  /// Copies slot "from" to slot "to".
  Graph copy(const Buffer& from, const Buffer& to, bool native_graph = true) const {
    Recorder recorder;
    const BufferRef source = recorder.buffer("from", size);
    const BufferRef destination = recorder.buffer("to", size);
    recorder.copy(destination, source);
    return device
        .instantiate(recorder.finish().value(),
                     {.bindings = {{"from", from}, {"to", to}}, .native_graph = native_graph})
        .value();
  }
  std::vector<uint8_t> read(const Buffer& buffer) const {
    std::vector<uint8_t> bytes(size);
    EXPECT_TRUE(buffer.read(0, bytes));
    return bytes;
  }

  sim::SimDriver sim{GetParam().path};
  Device device;
  void* stream = nullptr;
};

TEST_P(DriverInterop, MemoryOfTheCallerIsUsedInPlace) {
  void* memory = allocate();
  {
    const Buffer from = Buffer::import(device, {.pointer = memory, .size = size}).value();
    EXPECT_EQ(from.native_pointer(), memory);
    set_bytes(memory, 7, stream);
    EXPECT_EQ(native(GetParam().synchronize, stream), 0);
    const Buffer to = device.allocate(size).value();
    ASSERT_TRUE(device.queue().submit(copy(from, to)).value().wait());
    EXPECT_EQ(read(to), std::vector<uint8_t>(size, 7));
  }
  free(memory);
}

TEST_P(DriverInterop, MemoryThatTheDriverDoesNotKnowIsRefusedAndTheDeviceLives) {
  std::vector<std::byte> bytes(size);
  const Result<Buffer> refused = Buffer::import(device, {.pointer = bytes.data(), .size = size});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::invalid_argument);
  EXPECT_NE(refused.error().message.find("is not memory that this driver"), std::string::npos)
      << refused.error().message;
  EXPECT_EQ(import_error({.pointer = reinterpret_cast<void*>(64), .size = 4}), Errc::invalid_argument);
  const Buffer x = device.allocate(size).value();
  const Buffer y = device.allocate(size).value();
  EXPECT_TRUE(device.queue().submit(copy(x, y)).value().wait());
}

TEST_P(DriverInterop, MemoryOfAnotherDeviceOrKindOrSizeIsRefused) {
  const Device other = open(1);
  const Buffer theirs = other.allocate(size).value();
  EXPECT_EQ(import_error({.pointer = theirs.native_pointer(), .size = size}), Errc::invalid_argument);
  void* memory = allocate();
  EXPECT_EQ(import_error({.pointer = memory, .size = size + 1}), Errc::out_of_range);
  EXPECT_EQ(import_error({.pointer = static_cast<char*>(memory) + 1, .size = size}), Errc::out_of_range);
  EXPECT_EQ(import_error({.pointer = memory, .size = size, .kind = MemoryKind::upload}), Errc::mismatch);
  const Buffer pinned = device.allocate(size, MemoryKind::upload).value();
  EXPECT_TRUE(Buffer::import(device, {.pointer = pinned.native_pointer(), .size = size, .kind = MemoryKind::readback}));
  free(memory);
}

TEST_P(DriverInterop, WorkOnAQueuesStreamComesInTheOrderOfTheCalls) {
  const Buffer x = device.allocate(size).value();
  const Buffer y = device.allocate(size).value();
  const Graph graph = copy(x, y);
  void* native_stream = GetParam().native_stream(device.queue()).value();
  for (uint8_t i = 1; i < 20; ++i) {
    set_bytes(x.native_pointer(), i, native_stream);
    ASSERT_TRUE(device.queue().submit(graph));
    set_bytes(x.native_pointer(), 0, native_stream);
    EXPECT_EQ(native(GetParam().synchronize, native_stream), 0);
    EXPECT_EQ(read(y), std::vector<uint8_t>(size, i));
  }
  EXPECT_TRUE(device.queue().wait_idle());
}

TEST_P(DriverInterop, AQueueOnTheCallersStreamKeepsItsOrder) {
  const Buffer x = device.allocate(size).value();
  const Buffer y = device.allocate(size).value();
  const Graph graph = copy(x, y);
  const Graph on_streams = copy(x, y, false);
  Queue queue = GetParam().import_queue(device, stream).value();
  EXPECT_EQ(GetParam().native_stream(queue).value(), stream);
  for (uint8_t i = 1; i < 20; ++i) {
    set_bytes(x.native_pointer(), i, stream);
    const Submission done = queue.submit(i % 2 == 0 ? graph : on_streams).value();
    set_bytes(x.native_pointer(), 0, stream);
    EXPECT_EQ(native(GetParam().synchronize, stream), 0);
    EXPECT_EQ(read(y), std::vector<uint8_t>(size, i));
    EXPECT_TRUE(done.wait());
  }
  // The queue may go while its work is in flight, and outlives the handle of its device.
  const Submission last = queue.submit(graph).value();
  device = {};
  queue = {};
  EXPECT_TRUE(last.is_done());
}

TEST_P(DriverInterop, WorkOnAQueueThatIsDroppedEndsAsItWould) {
  const Buffer x = device.allocate(size).value();
  const Buffer y = device.allocate(size).value();
  const Semaphore gate = Semaphore::create().value();
  Recorder recorder;
  recorder.copy(recorder.buffer(y), recorder.buffer(x));
  Queue queue = GetParam().import_queue(device, stream).value();
  std::atomic<bool> is_open{false};
  using Callback = void (*)(void*, int, void*);
  const Callback wait = [](void* /*stream*/, int /*status*/, void* flag) {
    while (!*static_cast<std::atomic<bool>*>(flag)) std::this_thread::yield();
  };
  const char* add_callback = GetParam().is_cuda() ? "cuStreamAddCallback" : "hipStreamAddCallback";
  ASSERT_EQ(native(add_callback, stream, wait, static_cast<void*>(&is_open), 0U), 0);
  const Submission once = queue.run(recorder.finish().value()).value();
  const Semaphore end = Semaphore::create().value();
  const Submission waits = queue.submit(copy(x, y), {.wait = {{gate, 1}}, .signal = {{end, 1}}}).value();
  std::thread drops([dropped = std::move(queue)]() mutable { dropped = {}; });
  EXPECT_TRUE(gate.signal(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(10));  // so that the queue goes before its work has ended
  is_open = true;
  EXPECT_TRUE(once.wait());
  drops.join();
  // Without anybody waiting for it.
  for (int i = 0; i < 5000 && end.value() == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(end.value(), 1U);
  EXPECT_TRUE(waits.wait());
}

TEST_P(DriverInterop, ASemaphoreFollowsTheCallersStream) {
  const Buffer x = device.allocate(size).value();
  const Buffer y = device.allocate(size).value();
  const Semaphore ready = Semaphore::create().value();
  const Submission done = device.queue().submit(copy(x, y), {.wait = {{ready, 1}}}).value();
  set_bytes(x.native_pointer(), 9, stream);
  ASSERT_TRUE(GetParam().signal_when(ready, 1, device, stream));
  ASSERT_TRUE(done.wait());
  EXPECT_EQ(read(y), std::vector<uint8_t>(size, 9));
  EXPECT_EQ(GetParam().signal_when(ready, 2, device, nullptr).error().code, Errc::invalid_argument);
}

TEST_P(DriverInterop, ASemaphoreBehindAFaultFails) {
  const Buffer x = device.allocate(size).value();
  const Semaphore ready = Semaphore::create().value();
  sim.fault_after(0);
  set_bytes(x.native_pointer(), 9, stream);
  // The fault may come before the call, which then says so itself.
  if (GetParam().signal_when(ready, 1, device, stream)) {
    EXPECT_EQ(ready.wait(1).error().code, Errc::dependency_failed);
  }
  sim.revive();
}

TEST_P(DriverInterop, NativeGraphsComeOut) {
  const Buffer x = device.allocate(size).value();
  const Buffer y = device.allocate(size).value();
  EXPECT_EQ(GetParam().native_graphs(copy(x, y)).size(), 1U);
  EXPECT_TRUE(GetParam().native_graphs(copy(x, y, false)).empty());
}

TEST_P(DriverInterop, AnotherDeviceMayBeCurrentAndStaysSo) {
  const Device other = open(1);
  choose(device);
  const auto current = [&]() -> int64_t {
    if (GetParam().is_cuda()) return reinterpret_cast<intptr_t>(make<void*>("cuCtxGetCurrent"));
    return make<int>("hipGetDevice");
  };
  const int64_t before = current();
  Buffer x = other.allocate(size).value();
  Buffer y = other.allocate(size).value();
  EXPECT_EQ(import_error({.pointer = x.native_pointer(), .size = size}), Errc::invalid_argument) << "of device 1";
  for (const bool native_graph : {true, false}) {
    Recorder recorder;
    const BufferRef from = recorder.buffer(x);
    recorder.fill(from, native_graph ? 7U : 8U).barrier().copy(recorder.buffer(y), from);
    const Graph graph = other.instantiate(recorder.finish().value(), {.native_graph = native_graph}).value();
    EXPECT_TRUE(other.queue().submit(graph).value().wait());
    std::vector<uint32_t> words(size / 4);
    EXPECT_TRUE(y.read(0, words));
    EXPECT_EQ(words, std::vector<uint32_t>(size / 4, native_graph ? 7U : 8U));
    EXPECT_EQ(current(), before);
  }
  x = y = {};
  EXPECT_EQ(current(), before);
}

TEST_P(DriverInterop, OtherBackendsHaveNoneOfThis) {
  const Device cpu = Device::open("cpu").value();
  EXPECT_EQ(interop::cuda::native_context(cpu), nullptr);
  EXPECT_EQ(interop::hip::native_device(cpu), -1);
  EXPECT_EQ(GetParam().native_stream(cpu.queue()).error().code, Errc::invalid_argument);
  EXPECT_EQ(GetParam().import_queue(cpu, stream).error().code, Errc::invalid_argument);
  EXPECT_EQ(GetParam().signal_when(Semaphore::create().value(), 1, cpu, stream).error().code, Errc::invalid_argument);
  EXPECT_TRUE(GetParam().native_graphs(Graph()).empty());
}

INSTANTIATE_TEST_SUITE_P(Faces, DriverInterop, ::testing::ValuesIn(interop_faces), face_name<InteropFace>);

}  // namespace
}  // namespace pianola::test
