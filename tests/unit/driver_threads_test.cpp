// SPDX-License-Identifier: Apache-2.0
// Many threads record and instantiate on one device at once; many rebinds use no more memory.
#include <malloc.h>

#include <thread>

#include "driver_fixture.hpp"

namespace pianola::test {
namespace {

class DriverThreads : public ::testing::TestWithParam<Face> {
 protected:
  void SetUp() override {
    prepare(sim);
    device = Device::open(GetParam().spec(), {.driver_path = sim.path()}).value();
  }
  void TearDown() override {
    device = {};
    expect_nothing_left(sim);
  }
  /// `count` additions of `value`, each to what the one before left, from x to y and back.
  static CommandBuffer additions(const KernelLibrary& kernels, uint32_t count, uint32_t value) {
    Recorder recorder;
    const BufferRef x = recorder.buffer("x", 256);
    const BufferRef y = recorder.buffer("y", 256);
    recorder.fill(x, 0U).barrier();
    for (uint32_t i = 0; i < count; ++i) {
      recorder
          .dispatch(kernels["add_value"],
                    {.constants = {value, 64U}, .bindings = {i % 2 == 0 ? x : y, i % 2 == 0 ? y : x}})
          .barrier();
    }
    return recorder.finish().value();
  }
  sim::SimDriver sim{GetParam().path};
  Device device;
};

TEST_P(DriverThreads, EightThreadsRecordAndInstantiateWholeGraphs) {
  const KernelLibrary shared = driver_kernels();
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      const KernelLibrary own = driver_kernels();
      const Buffer x = device.allocate(256).value();
      const Buffer y = device.allocate(256).value();
      for (uint32_t round = 0; round < 4; ++round) {
        const uint32_t count = 20 + 2 * ((t + round) % 8);
        const Graph graph = device.instantiate(additions(round % 2 == 0 ? shared : own, count, t + 1)).value();
        EXPECT_TRUE(
            device.queue(t % device.queue_count()).submit(graph, {.bindings = {{"x", x}, {"y", y}}}).value().wait());
        std::vector<uint32_t> values(64);
        EXPECT_TRUE(x.read(0, values));
        EXPECT_EQ(values, std::vector<uint32_t>(64, count * (t + 1)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// What the driver is asked from several threads at once: nodes of each kind, updates, launches, work on streams.
TEST_P(DriverThreads, EightThreadsMakeChangeAndLaunchEveryKindOfNode) {
  device = Device::open(GetParam().spec(), {.driver_path = updating_driver(sim, GetParam())}).value();
  constexpr uint64_t large = uint64_t{4} << 20;  // from about here on fills are the driver's own
  const KernelLibrary kernels = driver_kernels();
  const auto large_fills = [&] {
    Recorder recorder;
    const BufferRef x = recorder.buffer("x", large);
    for (uint32_t i = 0; i < 20; ++i) recorder.fill(x, i).barrier();
    return recorder.finish().value();
  };
  const auto commands = [&] {
    Recorder recorder;
    const BufferRef x = recorder.buffer("x", 256);
    const BufferRef y = recorder.buffer("y", 256);
    const BufferRef z = recorder.buffer("z", 256);
    for (uint32_t i = 0; i < 20; ++i) {
      recorder.fill(x, i).barrier().copy(y, x).barrier();
      recorder.dispatch(kernels["add_value"], {.constants = {1U, 64U}, .bindings = {y, z}}).barrier();
    }
    return recorder.finish().value();
  };
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      const Buffer memory = device.allocate(large).value();
      for (uint32_t round = 0; round < 4; ++round) {
        EXPECT_TRUE(device.instantiate(large_fills(), {.bindings = {{"x", memory}}}));  // makes its nodes at once
        const bool native_graph = (t + round) % 4 != 0;
        const Graph graph = device.instantiate(commands(), {.native_graph = native_graph}).value();
        for (int set = 0; set < 5; ++set) {
          std::vector<SlotBinding> bindings;
          const Buffer z = device.allocate(256).value();
          for (const char* name : {"x", "y"}) bindings.push_back({name, device.allocate(256).value()});
          bindings.push_back({"z", z});
          const Queue queue = device.queue(t % device.queue_count());
          EXPECT_TRUE(queue.submit(graph, {.bindings = bindings}).value().wait());
          std::vector<uint32_t> values(64);
          EXPECT_TRUE(z.read(0, values));
          EXPECT_EQ(values, std::vector<uint32_t>(64, 20));
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_P(DriverThreads, TenThousandRebindsUseNoMoreMemory) {
  std::vector<Buffer> memory;
  for (int i = 0; i < 10; ++i) memory.push_back(device.allocate(256).value());
  const Graph graph = device.instantiate(additions(driver_kernels(), 3, 1)).value();
  int64_t objects = 0;
  int64_t bytes = 0;
  size_t host = 0;
  for (int i = 0; i < 10000; ++i) {
    const std::vector<SlotBinding> bindings = {{"x", memory[i % 5]}, {"y", memory[5 + i % 5]}};
    ASSERT_TRUE(device.queue().submit(graph, {.bindings = bindings}).value().wait());
    if (i != 999) continue;
    objects = sim.live_objects();
    bytes = sim.live_bytes();
    host = mallinfo2().uordblks;
  }
  EXPECT_LE(sim.live_objects(), objects + 4);  // an event that a thread still looks at is not used again yet
  EXPECT_EQ(sim.live_bytes(), bytes);
  EXPECT_LE(mallinfo2().uordblks, host + 65536);
}

INSTANTIATE_TEST_SUITE_P(Faces, DriverThreads, ::testing::ValuesIn(faces), face_name<Face>);

}  // namespace
}  // namespace pianola::test
