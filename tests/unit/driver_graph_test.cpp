// SPDX-License-Identifier: Apache-2.0
// Graphs over the software driver: what is built, launched and updated.
#include <atomic>
#include <thread>

#include "backend/cuda/api.hpp"
#include "backend/driver_graph/driver.hpp"
#include "base/recently_used.hpp"
#include "driver_fixture.hpp"

namespace pianola::test {
namespace {

class DriverGraph : public DriverTest {
 protected:
  /// fill x with 1; y = x + 10; z = y + 20, with a barrier between.
  CommandBuffer chain(uint32_t n, const KernelLibrary& kernels = driver_kernels()) {
    Recorder recorder;
    const BufferRef x = recorder.buffer("x", n * 4);
    const BufferRef y = recorder.buffer("y", n * 4);
    const BufferRef z = recorder.buffer("z", n * 4);
    const uint32_t groups = (n + 63) / 64;
    recorder.fill(x, 1U).barrier();
    recorder.dispatch(kernels["add_value"], {.groups = {groups}, .constants = {10U, n}, .bindings = {x, y}}).barrier();
    recorder.dispatch(kernels["add_value"], {.groups = {groups}, .constants = {20U, n}, .bindings = {y, z}});
    return recorder.finish().value();
  }
  struct Set {
    Buffer x, y, z;
    std::vector<SlotBinding> bindings() const { return {{"x", x}, {"y", y}, {"z", z}}; }
  };
  Set make_set(uint32_t n) {
    const std::vector<uint32_t> zero(n, 0);
    return {make_buffer(zero), make_buffer(zero), make_buffer(zero)};
  }
};

TEST_F(DriverGraph, ReplaysAsOneGraphLaunch) {
  const Set set = make_set(1000);
  const Graph graph = device.instantiate(chain(1000), {.bindings = set.bindings()}).value();
  const int64_t built = sim.count("cuGraphInstantiateWithFlags");
  const int64_t launched = sim.count("cuGraphLaunch");
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(device.queue().submit(graph).value().wait());
  EXPECT_EQ(read(set.z), std::vector<uint32_t>(1000, 31));
  EXPECT_EQ(sim.count("cuGraphInstantiateWithFlags"), built);
  EXPECT_EQ(sim.count("cuGraphLaunch"), launched + 3);
}

TEST_F(DriverGraph, StreamReplayGivesTheSameBytes) {
  const Set set = make_set(1000);
  const Graph graph = device.instantiate(chain(1000), {.bindings = set.bindings(), .native_graph = false}).value();
  const int64_t launched = sim.count("cuGraphLaunch");
  ASSERT_TRUE(device.queue().submit(graph).value().wait());
  EXPECT_EQ(read(set.z), std::vector<uint32_t>(1000, 31));
  EXPECT_EQ(sim.count("cuGraphLaunch"), launched);
}

TEST_F(DriverGraph, OneShotWorkMakesNoGraph) {
  const Set set = make_set(100);
  const int64_t built = sim.count("cuGraphCreate");
  ASSERT_TRUE(device.queue().run(chain(100), {.bindings = set.bindings()}).value().wait());
  EXPECT_EQ(read(set.z), std::vector<uint32_t>(100, 31));
  EXPECT_EQ(sim.count("cuGraphCreate"), built);
}

TEST_F(DriverGraph, TheLibrariesUsedLastStayLoadedForOneShotWork) {
  Set set = make_set(100);
  const auto run = [&](const KernelLibrary& kernels) {
    ASSERT_TRUE(device.queue().run(chain(100, kernels), {.bindings = set.bindings()}).value().wait());
  };
  const int64_t before = sim.count("cuModuleLoadData");
  std::vector<KernelLibrary> libraries;
  for (size_t i = 0; i <= kept_libraries; ++i) libraries.push_back(driver_kernels());
  // The library of built-in kernels, which does the fill, is one of those that stay.
  run(libraries[0]);
  const int64_t loaded = sim.count("cuModuleLoadData");
  const int64_t unloaded = sim.count("cuModuleUnload");
  for (int i = 0; i < 3; ++i) run(libraries[0]);
  EXPECT_EQ(sim.count("cuModuleLoadData"), loaded);
  for (size_t i = 1; i + 1 < kept_libraries; ++i) run(libraries[i]);
  EXPECT_EQ(sim.count("cuModuleUnload"), unloaded);
  run(libraries[kept_libraries]);
  EXPECT_EQ(sim.count("cuModuleUnload"), unloaded + 1);
  EXPECT_EQ(sim.count("cuModuleLoadData"), loaded + static_cast<int64_t>(kept_libraries) - 1);
  run(libraries[0]);
  EXPECT_EQ(sim.count("cuModuleLoadData"), loaded + static_cast<int64_t>(kept_libraries));
  set = {};
  device = {};
  EXPECT_EQ(sim.count("cuModuleUnload") - unloaded, sim.count("cuModuleLoadData") - before);
}

TEST_F(DriverGraph, AlternatingBetweenTwoSetsOfBindingsTouchesNoNode) {
  const Set a = make_set(64);
  const Set b = make_set(64);
  const Graph graph = device.instantiate(chain(64)).value();
  const auto run = [&](const Set& set) {
    ASSERT_TRUE(device.queue().submit(graph, {.bindings = set.bindings()}).value().wait());
  };
  run(a);
  run(b);
  const int64_t built = sim.count("cuGraphInstantiateWithFlags");
  const int64_t updates = sim.count("cuGraphExecKernelNodeSetParams");
  for (int i = 0; i < 10; ++i) run(i % 2 == 0 ? a : b);
  EXPECT_EQ(sim.count("cuGraphInstantiateWithFlags"), built);
  EXPECT_EQ(sim.count("cuGraphExecKernelNodeSetParams"), updates);
  EXPECT_EQ(read(a.z), std::vector<uint32_t>(64, 31));
  EXPECT_EQ(read(b.z), std::vector<uint32_t>(64, 31));
}

TEST_F(DriverGraph, ARebindTouchesOnlyNodesOnChangedSlots) {
  const Set a = make_set(64);
  const Graph graph = device.instantiate(chain(64), {.bindings = a.bindings()}).value();
  const auto run = [&](const Buffer& z) {
    ASSERT_TRUE(device.queue().submit(graph, {.bindings = {{"z", z}}}).value().wait());
  };
  run(make_set(64).z);  // the second set gets a graph of its own
  const int64_t built = sim.count("cuGraphInstantiateWithFlags");
  const int64_t kernels = sim.count("cuGraphExecKernelNodeSetParams");
  const int64_t fills = sim.count("cuGraphExecMemsetNodeSetParams");
  const Set c = make_set(64);
  run(c.z);
  EXPECT_EQ(read(c.z), std::vector<uint32_t>(64, 31));
  EXPECT_EQ(sim.count("cuGraphInstantiateWithFlags"), built);
  EXPECT_EQ(sim.count("cuGraphExecKernelNodeSetParams"), kernels + 1);
  EXPECT_EQ(sim.count("cuGraphExecMemsetNodeSetParams"), fills);
}

TEST_F(DriverGraph, AFailedUpdateMakesAFreshGraph) {
  const Set a = make_set(16);
  const Graph graph = device.instantiate(chain(16), {.bindings = a.bindings()}).value();
  const auto run = [&](const Set& set) {
    ASSERT_TRUE(device.queue().submit(graph, {.bindings = set.bindings()}).value().wait());
  };
  run(make_set(16));
  const Set c = make_set(16);
  const int64_t built = sim.count("cuGraphInstantiateWithFlags");
  sim.fail_after(4, 1);  // two calls set the context, then one node is changed
  run(c);
  EXPECT_EQ(sim.failed_call(), "cuGraphExecKernelNodeSetParams");
  EXPECT_EQ(read(c.z), std::vector<uint32_t>(16, 31));
  EXPECT_EQ(sim.count("cuGraphInstantiateWithFlags"), built + 1);
}

TEST_F(DriverGraph, IndirectCountsCutTheGraphAndAreReadOnTheHost) {
  const KernelLibrary kernels = driver_kernels();
  Recorder recorder;
  const BufferRef counts = recorder.buffer("counts", 12);
  const BufferRef x = recorder.buffer("x", 1024);
  const BufferRef y = recorder.buffer("y", 1024);
  const BufferRef z = recorder.buffer("z", 1024);
  const std::vector<uint32_t> three = {4, 1, 1};
  recorder.fill(x, 5U).update(counts, three).barrier();
  recorder.dispatch_indirect(kernels["add_value"], counts, {.constants = {1U, 256U}, .bindings = {x, y}}).barrier();
  recorder.dispatch(kernels["add_value"], {.groups = {4}, .constants = {2U, 256U}, .bindings = {y, z}});
  const Set set = {make_buffer(std::vector<uint32_t>(256)), make_buffer(std::vector<uint32_t>(256)),
                   make_buffer(std::vector<uint32_t>(256))};
  std::vector<SlotBinding> bindings = set.bindings();
  bindings.push_back({"counts", make_buffer({0, 0, 0})});
  const Graph graph = device.instantiate(recorder.finish().value(), {.bindings = bindings}).value();
  const int64_t launched = sim.count("cuGraphLaunch");
  ASSERT_TRUE(device.queue().submit(graph).value().wait());
  EXPECT_EQ(read(set.z), std::vector<uint32_t>(256, 8));
  EXPECT_EQ(sim.count("cuGraphLaunch"), launched + 2);
}

TEST_F(DriverGraph, AFaultFailsTheSubmissionAndLosesTheDevice) {
  const Set set = make_set(64);
  const Graph graph = device.instantiate(chain(64), {.bindings = set.bindings()}).value();
  const Semaphore done = Semaphore::create().value();
  sim.fault_after(1);
  const Submission submission = device.queue().submit(graph, {.signal = {{done, 1}}}).value();
  const Result<> first = submission.wait();
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().code, Errc::execution_failed);
  EXPECT_EQ(first.error().native_code, 700);
  EXPECT_EQ(done.wait(1).error().code, Errc::dependency_failed);
  const Result<> second = device.queue().submit(graph).value().wait();
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::device_lost);
  std::vector<uint32_t> values(64);
  EXPECT_EQ(set.x.read(0, values).error().code, Errc::device_lost);
  sim.revive();
}

TEST_F(DriverGraph, RangesPastFourGibibytesAreReached) {
  constexpr uint64_t far = (uint64_t{1} << 32) + 12;
  const Buffer memory = device.allocate(far + 64).value();  // pages that nobody touches take no room
  for (const bool native_graph : {true, false}) {
    const uint32_t value = native_graph ? 5 : 6;
    Recorder recorder;
    const BufferRef all = recorder.buffer(memory);
    recorder.fill(all.view(far, 8), value).update(all.view(far + 8, 4), std::array<uint32_t, 1>{9}).barrier();
    recorder.copy(all.view(0, 12), all.view(far, 12)).barrier().copy(all.view(far + 32, 12), all.view(0, 12));
    const Graph graph = device.instantiate(recorder.finish().value(), {.native_graph = native_graph}).value();
    ASSERT_TRUE(device.queue().submit(graph).value().wait());
    for (const uint64_t at : {uint64_t{0}, far, far + 32}) {
      std::array<uint32_t, 3> values{};
      ASSERT_TRUE(memory.read(at, values));
      EXPECT_EQ(values, (std::array<uint32_t, 3>{value, value, 9})) << at;
    }
  }
}

// 714 to 719 are faults of instructions, addresses and launches.
TEST_F(DriverGraph, WhateverLosesTheContextLosesTheDeviceAndNothingElseDoes) {
  for (const int status : {214, 220, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 1, 713, 720, 999}) {
    const bool loses = status != 1 && status != 713 && status != 720 && status != 999;
    const Device other = Device::open("cuda:0", {.driver_path = sim.path()}).value();
    const Graph graph = other.instantiate(chain(64)).value();
    std::vector<SlotBinding> bindings;
    for (const char* name : {"x", "y", "z"}) bindings.push_back({name, other.allocate(256).value()});
    sim.fail_after(0, status);
    const Result<Submission> submission = other.queue().submit(graph, {.bindings = bindings});
    const Result<> done = submission ? submission->wait() : Result<>(submission.error());
    sim.fail_after(-1, 0);
    ASSERT_FALSE(done) << status;
    EXPECT_EQ(done.error().native_code, status);
    EXPECT_EQ(done.error().code == Errc::execution_failed, loses) << to_string(done.error());
    const Result<Submission> second = other.queue().submit(graph, {.bindings = bindings});
    const Result<> end = second ? second->wait() : Result<>(second.error());
    EXPECT_EQ(!end && end.error().code == Errc::device_lost, loses) << status;
  }
}

TEST_F(DriverGraph, ARevivedSoftwareDeviceOwesNoEvents) {
  const cuda::Api& api = *driver_graph::load<cuda::Vendor>(sim.path()).value();
  const auto driver = std::make_shared<driver_graph::Driver>(cuda::Vendor::make_table(api, 0).value());
  const driver_graph::DriverTable& table = driver->table();
  const driver_graph::ContextScope scope(*driver);
  const driver_graph::UniqueStream stream(driver, table.stream_create(&api).value());
  const driver_graph::UniqueEvent event(driver, table.event_create(&api, false).value());
  const driver_graph::UniqueMemory memory(driver, table.allocate(&api, 64).value());
  std::atomic<bool> is_recorded{false};
  const auto wait = [](void* /*stream*/, int /*status*/, void* flag) {
    while (!*static_cast<std::atomic<bool>*>(flag)) std::this_thread::yield();
  };
  ASSERT_TRUE(table.stream_callback(&api, stream.get(), wait, &is_recorded));
  ASSERT_TRUE(table.stream_fill(&api, stream.get(), {memory.get(), 1, 1, 64}));
  ASSERT_TRUE(table.event_record(&api, event.get(), stream.get()));
  sim.fault_after(0);
  is_recorded = true;
  EXPECT_EQ(table.event_synchronize(&api, event.get()).error().native_code, 700);
  sim.revive();
  EXPECT_TRUE(table.event_is_done(&api, event.get()).value());
}

}  // namespace
}  // namespace pianola::test
