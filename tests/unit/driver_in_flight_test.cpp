// SPDX-License-Identifier: Apache-2.0
// Work in flight keeps what it uses, however early the caller lets go of it, and stays as it was submitted.
#include <atomic>
#include <chrono>
#include <thread>

#include "driver_fixture.hpp"

namespace pianola::test {
namespace {

std::atomic<bool> gate_is_open{true};
std::atomic<bool> is_at_gate{false};

/// add_value once the gate is open.
void gated_add(const pianola_host_launch* launch) {
  is_at_gate = true;
  while (!gate_is_open) std::this_thread::sleep_for(std::chrono::microseconds(100));
  add_value(launch);
}

class DriverInFlight : public ::testing::TestWithParam<Face> {
 protected:
  static constexpr uint64_t size = 4096;

  void SetUp() override {
    prepare(sim);
    gate_is_open = true;
    sim.add(driver_kernels().kernels()[0], gated_add);
    device = Device::open(GetParam().spec(), {.driver_path = updating_driver(sim, GetParam())}).value();
  }
  void TearDown() override {
    gate_is_open = true;
    device = {};
    expect_nothing_left(sim);
  }
  /// Adds 1 to x, and once that is done puts 5 into z, which is done from memory that the graph owns.
  Graph make(bool native_graph) const {
    Recorder recorder;
    const BufferRef x = recorder.buffer("x", size);
    const BufferRef y = recorder.buffer("y", size);
    const BufferRef z = recorder.buffer("z", size);
    recorder.fill(x, 3U).barrier();
    recorder
        .dispatch(driver_kernels()["add_value"],
                  {.groups = {16}, .constants = {1U, uint32_t{size / 4}}, .bindings = {x, y}})
        .barrier();
    recorder.update(z, std::vector<uint32_t>(size / 4, 5));
    return device.instantiate(recorder.finish().value(), {.native_graph = native_graph}).value();
  }
  struct Set {
    Buffer x, y, z;
    std::vector<SlotBinding> bindings() const { return {{"x", x}, {"y", y}, {"z", z}}; }
  };
  Set make_set() const {
    return {device.allocate(size).value(), device.allocate(size).value(), device.allocate(size).value()};
  }
  static void expect(const Buffer& buffer, uint32_t value) {
    std::vector<uint32_t> values(size / 4);
    EXPECT_TRUE(buffer.read(0, values));
    EXPECT_EQ(values, std::vector<uint32_t>(size / 4, value));
  }

  sim::SimDriver sim{GetParam().path};
  Device device;
};

TEST_P(DriverInFlight, ReplaysOfManyBindingsOverlap) {
  for (const bool native_graph : {true, false}) {
    const Graph graph = make(native_graph);
    std::vector<Set> sets;
    for (int i = 0; i < 6; ++i) sets.push_back(make_set());
    gate_is_open = false;
    std::vector<Submission> all;
    for (const Set& set : sets) all.push_back(device.queue().submit(graph, {.bindings = set.bindings()}).value());
    gate_is_open = true;
    for (const Submission& one : all) ASSERT_TRUE(one.wait());
    for (const Set& set : sets) {
      expect(set.y, 4);
      expect(set.z, 5);
    }
  }
}

TEST_P(DriverInFlight, TheGraphAndItsMemoryMayGo) {
  for (const bool native_graph : {true, false}) {
    Set set = make_set();
    const Buffer y = set.y;
    const Buffer z = set.z;
    Graph graph = make(native_graph);
    ASSERT_TRUE(device.queue().submit(graph, {.bindings = set.bindings()}).value().wait());
    gate_is_open = false;
    // Were anything given back too early, the driver would wait for the gate, and complain.
    std::thread opens([] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      gate_is_open = true;
    });
    const Submission done = device.queue().submit(graph, {.bindings = set.bindings()}).value();
    graph = {};
    set = {};
    ASSERT_TRUE(done.wait());
    opens.join();
    expect(y, 4);
    expect(z, 5);
  }
}

// The call failed, not the copy: the caller's memory is in use until the copy has ended.
TEST_P(DriverInFlight, ATransferWhoseWaitFailsStillWaits) {
  const Graph graph = make(true);
  const Set set = make_set();
  std::vector<uint32_t> values(64);
  std::vector<uint64_t> sites;
  int waits = 0;
  // The first read tells where calls come from, each other one fails one of them.
  for (size_t turn = 0; turn <= sites.size(); ++turn) {
    Submission busy;
    std::thread opens;
    if (turn == 0) {
      sim.gather_sites(true);
    } else {
      // The driver has one thread, which a kernel keeps busy: the copy must wait.
      gate_is_open = false;
      is_at_gate = false;
      busy = device.queue().submit(graph, {.bindings = set.bindings()}).value();
      while (!is_at_gate) std::this_thread::yield();
      opens = std::thread([] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        gate_is_open = true;
      });
      sim.fail_at(sites[turn - 1], 0, 999);
    }
    const Result<> done = set.x.read(0, values);
    const bool was_open = gate_is_open;
    const std::string failed = sim.failed_call();
    sim.fail_after(-1, 0);
    if (turn == 0) {
      sim.gather_sites(false);
      sites = sim.sites();
      continue;
    }
    opens.join();
    EXPECT_TRUE(busy.wait());
    if (failed.find("StreamSynchronize") == std::string::npos) continue;
    ++waits;
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().native_call, failed);
    EXPECT_TRUE(was_open);
  }
  EXPECT_EQ(waits, 1);
}

INSTANTIATE_TEST_SUITE_P(Faces, DriverInFlight, ::testing::ValuesIn(faces), face_name<Face>);

}  // namespace
}  // namespace pianola::test
