// SPDX-License-Identifier: Apache-2.0
// What Pianola leaves behind in AMD's runtime: nothing that grows.
#include <gtest/gtest.h>

#include "pianola/pianola.hpp"
#include "sim_driver.hpp"

namespace pianola::test {
namespace {

constexpr uint64_t size = 4096;

class HsaMemory : public ::testing::Test {
 protected:
  void SetUp() override {
    sim.add_builtin();
    Result<Device> opened = Device::open("hip:0", {.driver_path = PIANOLA_SIM_AMD});
    ASSERT_TRUE(opened) << to_string(opened.error());
    device = *opened;
  }
  void TearDown() override { EXPECT_EQ(sim.complaints(), ""); }

  /// Fills by memset and by a built-in kernel, and with `copies` every kind of transfer, in a chain of order.
  static CommandBuffer transfers(bool copies) {
    Recorder recorder;
    const BufferRef x = recorder.buffer("x", size);
    const BufferRef y = recorder.buffer("y", size);
    const std::vector<std::byte> bytes(100, std::byte{7});
    recorder.fill(x, 1U).fill(y, 1U).barrier();
    if (copies) recorder.update(x.view(4, 100), bytes).barrier().copy(y, x).barrier();
    recorder.fill(y.view(1, 3), std::byte{9});
    return recorder.finish().value();
  }
  /// A graph, rebound often, and all of it dropped.
  void use(bool native, bool copies) {
    const Graph graph = device.instantiate(transfers(copies), {.native_graph = native}).value();
    for (int set = 0; set < 4; ++set) {
      const Buffer x = device.allocate(size).value();
      const Buffer y = device.allocate(size).value();
      const SubmitInfo info{.bindings = {{"x", x}, {"y", y}}};
      for (int i = 0; i < 3; ++i) ASSERT_TRUE(device.queue().submit(graph, info).value().wait());
      std::vector<uint8_t> got(5);
      ASSERT_TRUE(y.read(0, got));
      EXPECT_EQ(got, (std::vector<uint8_t>{1, 9, 9, 9, static_cast<uint8_t>(copies ? 7 : 1)}));
    }
  }
  /// Uses it again and again, and wants no more alive than after the first rounds. The runtime frees some rounds late.
  void expect_flat(bool native, bool copies) {
    for (int i = 0; i < 5; ++i) use(native, copies);
    const int64_t bytes = sim.live_bytes();
    for (int i = 0; i < 50; ++i) use(native, copies);
    EXPECT_LE(sim.live_bytes(), bytes + int64_t{16} * size);
  }

  sim::SimDriver sim{PIANOLA_SIM_AMD};
  Device device;
};

TEST_F(HsaMemory, NoMemoryIsLeftOfGraphs) {
  expect_flat(true, true);
}

TEST_F(HsaMemory, NoMemoryIsLeftOfStreamReplay) {
  expect_flat(false, true);
}

TEST_F(HsaMemory, ABufferThatIsKeptIsCounted) {
  use(true, false);
  const int64_t bytes = sim.live_bytes();
  const Buffer kept = device.allocate(1 << 20).value();
  EXPECT_GE(sim.live_bytes(), bytes + (1 << 20));
}

}  // namespace
}  // namespace pianola::test
