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

  /// Every kind of transfer, with a chain of order through all of them.
  static CommandBuffer transfers() {
    Recorder recorder;
    const BufferRef x = recorder.buffer("x", size);
    const BufferRef y = recorder.buffer("y", size);
    std::vector<std::byte> bytes(100, std::byte{7});
    recorder.fill(x, 1U).barrier();
    recorder.update(x.view(3, 100), bytes).barrier();
    recorder.copy(y, x).barrier();
    recorder.fill(y.view(5, 3), std::byte{9});
    return recorder.finish().value();
  }
  /// Two graphs' worth of everything, rebound, and all of it dropped.
  void use() {
    const CommandBuffer commands = transfers();
    for (const bool native : {true, false}) {
      const Graph graph = device.instantiate(commands, {.native_graph = native}).value();
      for (int set = 0; set < 4; ++set) {
        const Buffer x = device.allocate(size).value();
        const Buffer y = device.allocate(size).value();
        const SubmitInfo info{.bindings = {{"x", x}, {"y", y}}};
        for (int i = 0; i < 3; ++i) ASSERT_TRUE(device.queue().submit(graph, info).value().wait());
        std::vector<std::byte> got(8);
        ASSERT_TRUE(y.read(0, got));
        EXPECT_EQ(got, (std::vector<std::byte>{std::byte{1}, std::byte{0}, std::byte{0}, std::byte{7}, std::byte{7},
                                               std::byte{9}, std::byte{9}, std::byte{9}}));
      }
    }
  }

  sim::SimDriver sim{PIANOLA_SIM_AMD};
  Device device;
};

TEST_F(HsaMemory, NothingIsLeftOfGraphsBuffersAndSubmissions) {
  for (int i = 0; i < 5; ++i) use();
  ASSERT_TRUE(device.queue().wait_idle());
  const int64_t objects = sim.live_objects();
  const int64_t bytes = sim.live_bytes();
  for (int i = 0; i < 20; ++i) use();
  ASSERT_TRUE(device.queue().wait_idle());
  EXPECT_EQ(sim.live_objects(), objects);
  EXPECT_EQ(sim.live_bytes(), bytes);
}

TEST_F(HsaMemory, ABufferThatIsKeptIsCounted) {
  use();
  const int64_t bytes = sim.live_bytes();
  const Buffer kept = device.allocate(1 << 20).value();
  EXPECT_GE(sim.live_bytes(), bytes + (1 << 20));
}

}  // namespace
}  // namespace pianola::test
