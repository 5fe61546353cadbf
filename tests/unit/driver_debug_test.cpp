// SPDX-License-Identifier: Apache-2.0
// Looking at what happens: times of commands, debug groups in a profiler, the driver's picture of a graph.
#include <dlfcn.h>

#include "driver_fixture.hpp"

namespace pianola::test {
namespace {

struct DebugFace : Face {
  const char* markers;  ///< the profiler's library
};

// Backends look for the libraries by name, and the loader knows those that are there already.
void* const nvtx = dlopen(PIANOLA_SIM_NVTX, RTLD_NOW);
void* const roctx = dlopen(PIANOLA_SIM_ROCTX, RTLD_NOW);

class DriverDebug : public ::testing::TestWithParam<DebugFace> {
 protected:
  void SetUp() override {
    prepare(sim);
    device = Device::open(GetParam().spec(), {.driver_path = sim.path()}).value();
    x = device.allocate(256).value();
    y = device.allocate(256).value();
    (void)ranges();
  }
  void TearDown() override {
    x = y = {};
    device = {};
    expect_nothing_left(sim);
  }
  /// fill x; group outer: y = x + 1; group inner: x = y + 2; counts; indirect y = x + 3.
  CommandBuffer commands() const {
    const Kernel add = driver_kernels()["add_value"];
    const std::vector<uint32_t> counts = {1, 1, 1};
    Recorder recorder;
    const BufferRef a = recorder.buffer("a", 256);
    const BufferRef b = recorder.buffer("b", 256);
    const BufferRef c = recorder.buffer("c", 12);
    recorder.fill(a, 5U).barrier().begin_debug_group("outer");
    recorder.dispatch(add, {.constants = {1U, 64U}, .bindings = {a, b}}).barrier().begin_debug_group("inner");
    recorder.dispatch(add, {.constants = {2U, 64U}, .bindings = {b, a}}).end_debug_group().end_debug_group();
    recorder.update(c, counts).barrier();
    recorder.dispatch_indirect(add, c, {.constants = {3U, 64U}, .bindings = {a, b}});
    return recorder.finish().value();
  }
  Graph instantiate(InstantiateOptions options) const {
    options.bindings = {{"a", x}, {"b", y}, {"c", device.allocate(12).value()}};
    return device.instantiate(commands(), options).value();
  }
  std::string ranges() const {
    void* library = GetParam().markers == std::string("nvtx") ? nvtx : roctx;
    std::string text(4096, 0);
    reinterpret_cast<void (*)(char*, size_t)>(dlsym(library, "pianola_sim_take_ranges"))(text.data(), text.size());
    return text.substr(0, text.find('\0'));
  }

  sim::SimDriver sim{GetParam().path};
  Device device;
  Buffer x, y;
};

TEST_P(DriverDebug, EveryCommandIsTimedAndTheResultIsTheSame) {
  const Graph graph = instantiate({.timestamps = true});
  const Submission done = device.queue().submit(graph).value();
  ASSERT_TRUE(done.wait());
  std::vector<uint32_t> values(64);
  ASSERT_TRUE(y.read(0, values));
  EXPECT_EQ(values, std::vector<uint32_t>(64, 11));
  const std::vector<CommandTime> times = done.times();
  ASSERT_EQ(times.size(), 5U);
  const auto time_of = [&](const std::string& part) {
    for (const CommandTime& time : times) {
      if (time.name.find(part) != std::string::npos) return time;
    }
    ADD_FAILURE() << "no command with " << part;
    return CommandTime{};
  };
  for (const CommandTime& time : times) EXPECT_LE(time.begin, time.end) << time.name;
  EXPECT_EQ(times[1].group, "outer");
  EXPECT_EQ(times[2].group, "outer / inner");
  const std::chrono::microseconds slack(1);  // times come as 32-bit milliseconds
  EXPECT_LE(time_of("fill").end, times[1].begin + slack);
  EXPECT_LE(times[1].end, times[2].begin + slack);
  EXPECT_LE(time_of("update").end, times.back().begin + slack);
}

TEST_P(DriverDebug, WhatWasNotToBeTimedHasNoTimes) {
  const Submission done = device.queue().submit(instantiate({})).value();
  ASSERT_TRUE(done.wait());
  EXPECT_TRUE(done.times().empty());
  const Device cpu = Device::open("cpu").value();
  Recorder recorder;
  recorder.fill(recorder.buffer("a", 64), 1U);
  EXPECT_EQ(cpu.instantiate(recorder.finish().value(), {.timestamps = true}).error().code, Errc::unsupported);
}

TEST_P(DriverDebug, DebugGroupsReachTheProfiler) {
  ASSERT_NE(nvtx, nullptr);
  ASSERT_NE(roctx, nullptr);
  const Graph graph = instantiate({});
  EXPECT_EQ(ranges(), "(outer(inner))") << "while the graph is built";
  ASSERT_TRUE(device.queue().submit(graph).value().wait());
  EXPECT_EQ(ranges(), "") << "a launch has no groups";
  ASSERT_TRUE(device.queue().submit(instantiate({.native_graph = false})).value().wait());
  EXPECT_EQ(ranges(), "(outer(inner))") << "while it is replayed on streams";
}

TEST_P(DriverDebug, TheDriversOwnPictureOfTheGraphComesOut) {
  const std::string text = instantiate({}).native_description();
  EXPECT_NE(text.find("5 operations"), std::string::npos) << text;
  EXPECT_NE(text.find("digraph"), std::string::npos) << text;
  EXPECT_NE(text.find("add_value"), std::string::npos) << text;
  EXPECT_NE(text.find(" -> "), std::string::npos) << text;
}

INSTANTIATE_TEST_SUITE_P(Faces, DriverDebug,
                         ::testing::Values(DebugFace{faces[0], "nvtx"}, DebugFace{faces[1], "roctx"}),
                         [](const auto& face) { return std::string(face.param.markers); });

}  // namespace
}  // namespace pianola::test
