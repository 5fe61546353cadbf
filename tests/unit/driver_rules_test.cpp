// SPDX-License-Identifier: Apache-2.0
// What the software driver itself refuses or complains about, so that the backends' tests may rely on it.
#include <atomic>
#include <functional>
#include <thread>

#include "backend/cuda/api.hpp"
#include "backend/driver_graph/driver.hpp"
#include "backend/hip/api.hpp"
#include "driver_fixture.hpp"

namespace pianola::test {
namespace {

using driver_graph::ContextScope;
using driver_graph::Driver;
using driver_graph::DriverRef;
using driver_graph::DriverTable;

/// Runs `body` on a thread that has called no driver function yet.
void on_fresh_thread(const std::function<void()>& body) {
  std::thread(body).join();
}

/// Streams get past its closing once it is open.
class Gate {
 public:
  void close(const DriverTable& table, driver_graph::Stream stream) {
    const auto wait = [](void* /*stream*/, int /*status*/, void* flag) {
      while (!*static_cast<std::atomic<bool>*>(flag)) std::this_thread::yield();
    };
    ASSERT_TRUE(table.stream_callback(table.api, stream, wait, &is_open_));
  }
  void open() { is_open_ = true; }

 private:
  std::atomic<bool> is_open_{false};
};

class SoftwareDriver : public ::testing::TestWithParam<Face> {
 protected:
  static constexpr uint64_t size = 256;

  void SetUp() override { prepare(sim); }
  void TearDown() override {
    EXPECT_EQ(sim.live_objects(), 0);
    EXPECT_EQ(sim.live_bytes(), 0);
  }
  DriverRef open(int device = 0) const {
    if (GetParam().is_cuda()) return std::make_shared<Driver>(cuda::Vendor::make_table(cuda_api(), device).value());
    const hip::Api& api = *driver_graph::load<hip::Vendor>(sim.path()).value();
    return std::make_shared<Driver>(hip::Vendor::make_table(api, device).value());
  }
  const cuda::Api& cuda_api() const { return *driver_graph::load<cuda::Vendor>(sim.path()).value(); }
  /// The driver refused with that status, and complained with those words; "" is without a complaint.
  template <class T>
  void expect_refused(const Result<T>& result, int status, const std::string& words) const {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().native_code, status) << to_string(result.error());
    expect_complaint(words);
  }
  void expect_complaint(const std::string& words) const {
    const std::string text = sim.complaints();
    sim.forget_complaints();
    if (words.empty()) {
      EXPECT_EQ(text, "");
    } else {
      EXPECT_NE(text.find(words), std::string::npos) << text;
    }
  }
  static driver_graph::UniqueModule load(const DriverRef& driver) {
    const KernelLibrary library = driver_kernels();
    const CodeObject& code = library.objects()[GetParam().is_cuda() ? 0 : 1];
    return {driver, driver->table().module_load(driver->table().api, code.bytes, code.format).value()};
  }
  /// Of add_value, from memory to itself.
  struct Arguments {
    explicit Arguments(void* memory) : pointer(memory) {}
    driver_graph::KernelCall call(const DriverTable& table, driver_graph::Module module) {
      return {.function = table.module_function(table.api, module, "add_value").value(),
              .workgroup = {64, 1, 1},
              .arguments = all.data()};
    }
    void* pointer;
    std::array<uint32_t, 2> constants = {1, 64};
    std::array<void*, 4> all = {&pointer, &pointer, constants.data(), constants.data() + 1};
  };
  static driver_graph::UniqueMemory allocate(const DriverRef& driver) {
    const ContextScope scope(*driver);
    return {driver, driver->table().allocate(driver->table().api, size).value()};
  }

  sim::SimDriver sim{GetParam().path};
};

TEST_P(SoftwareDriver, WhatIsMadeNeedsAContextWhichHipAlwaysHas) {
  const DriverRef driver = open();
  const DriverTable& table = driver->table();
  on_fresh_thread([&] {
    const auto expect = [&](const auto& made, auto release) {
      if (GetParam().is_cuda()) return expect_refused(made, 201, "no context is current");
      EXPECT_TRUE(release(table.api, made.value()));
      expect_complaint("");
    };
    expect(table.allocate(table.api, size), table.free);
    expect(table.allocate_host(table.api, size), table.free_host);
    expect(table.stream_create(table.api), table.stream_destroy);
    expect(table.event_create(table.api, false), table.event_destroy);
    expect(table.graph_create(table.api), table.graph_destroy);
  });
}

TEST_P(SoftwareDriver, WhatIsReleasedWithoutAContextGoesButIsABreach) {
  const DriverRef driver = open();
  const DriverTable& table = driver->table();
  void* memory = nullptr;
  void* pinned = nullptr;
  driver_graph::Stream stream{};
  driver_graph::Event event{};
  {
    const ContextScope scope(*driver);
    memory = table.allocate(table.api, size).value();
    pinned = table.allocate_host(table.api, size).value();
    stream = table.stream_create(table.api).value();
    event = table.event_create(table.api, false).value();
  }
  const int64_t objects = sim.live_objects();
  on_fresh_thread([&] {
    const auto expect = [&](const Result<>& released, const std::string& call) {
      EXPECT_TRUE(released);
      expect_complaint(GetParam().is_cuda() ? call + " while no context is current" : "");
    };
    expect(table.free(table.api, memory), "cuMemFree");
    expect(table.free_host(table.api, pinned), "cuMemFreeHost");
    expect(table.stream_destroy(table.api, stream), "cuStreamDestroy");
    sim.fail_after(0, 999);  // a program whose context cannot be set has no other way
    EXPECT_FALSE(table.swap_context(table.api, table.context));
    EXPECT_TRUE(table.event_destroy(table.api, event));
    expect_complaint("");
  });
  EXPECT_EQ(sim.live_bytes(), 0);
  EXPECT_EQ(sim.live_objects(), objects - 2);
}

TEST_P(SoftwareDriver, NothingIsDoneToAGraphWhileAnotherDeviceIsCurrent) {
  const DriverRef driver = open();
  const DriverRef other = open(1);
  const DriverTable& table = driver->table();
  const driver_graph::UniqueMemory memory = allocate(driver);
  const driver_graph::FillCall fill{memory.get(), 1, 4, size / 4};
  driver_graph::CopyCall copy;
  copy.destination = memory.get();
  copy.source = static_cast<std::byte*>(memory.get()) + size / 2;
  copy.size = size / 2;
  const ContextScope scope(*driver);
  const driver_graph::UniqueModule module = load(driver);
  Arguments arguments(memory.get());
  const driver_graph::KernelCall kernel = arguments.call(table, module.get());
  const driver_graph::UniqueGraph graph(driver, table.graph_create(table.api).value());
  const auto filled = table.add_fill(table.api, graph.get(), {}, fill).value();
  const auto copied = table.add_copy(table.api, graph.get(), {}, copy).value();
  const auto called = table.add_kernel(table.api, graph.get(), {}, kernel).value();
  const driver_graph::UniqueExec exec(driver, table.instantiate(table.api, graph.get()).value());
  expect_complaint("");
  {
    const ContextScope elsewhere(*other);
    const std::string words = "object of device 0 while device 1 is current";
    expect_refused(table.add_fill(table.api, graph.get(), {}, fill), 201, words);
    expect_refused(table.add_copy(table.api, graph.get(), {}, copy), 201, words);
    expect_refused(table.add_kernel(table.api, graph.get(), {}, kernel), 201, words);
    expect_refused(table.instantiate(table.api, graph.get()), 201, words);
    expect_refused(table.set_fill(table.api, exec.get(), filled, fill), 201, words);
    expect_refused(table.set_copy(table.api, exec.get(), copied, copy), 201, words);
    expect_refused(table.set_kernel(table.api, exec.get(), called, kernel), 201, words);
    const driver_graph::UniqueGraph own(other, table.graph_create(table.api).value());
    expect_refused(table.add_kernel(table.api, own.get(), {}, kernel), 201, "function of another device");
  }
  if (!GetParam().is_cuda()) return;
  cuda::MemsetNodeParams params{};
  params.destination = memory.get();
  params.element_size = 4;
  params.width = params.height = 1;
  const cuda::Api& api = cuda_api();
  for (driver_graph::Context context : {driver_graph::Context{}, other->table().context}) {
    expect_refused(api.make(api.f.graph_add_memset, graph.get(), nullptr, size_t{0}, &params, context), 201,
                   "without the context of its graph's device");
    expect_refused(api.call(api.f.exec_set_memset, exec.get(), filled, &params, context), 201,
                   "without the context of its graph's device");
  }
}

TEST_P(SoftwareDriver, FillsAndKernelsThatReachIntoAnotherDeviceFault) {
  const DriverRef driver = open();
  const DriverRef other = open(1);
  const DriverTable& table = driver->table();
  const driver_graph::UniqueMemory theirs = allocate(other);
  const ContextScope scope(*driver);
  const driver_graph::UniqueStream stream(driver, table.stream_create(table.api).value());
  ASSERT_TRUE(table.stream_fill(table.api, stream.get(), {theirs.get(), 1, 4, size / 4}));
  expect_refused(table.stream_synchronize(table.api, stream.get()), 700, "memory that is not its device's");
  sim.revive();
  const driver_graph::UniqueModule module = load(driver);
  Arguments arguments(theirs.get());
  ASSERT_TRUE(table.stream_kernel(table.api, stream.get(), arguments.call(table, module.get())));
  expect_refused(table.stream_synchronize(table.api, stream.get()), 700, "memory that is not its device's");
  sim.revive();
}

TEST_P(SoftwareDriver, TimesComeFromTimedEventsThatAreDone) {
  const DriverRef driver = open();
  const DriverTable& table = driver->table();
  const ContextScope scope(*driver);
  const driver_graph::UniqueStream stream(driver, table.stream_create(table.api).value());
  const auto make = [&](bool is_timed) {
    return driver_graph::UniqueEvent(driver, table.event_create(table.api, is_timed).value());
  };
  const auto record = [&](const driver_graph::UniqueEvent& event) {
    EXPECT_TRUE(table.event_record(table.api, event.get(), stream.get()));
  };
  const driver_graph::UniqueEvent first = make(true);
  const driver_graph::UniqueEvent second = make(true);
  const driver_graph::UniqueEvent pending = make(true);
  const driver_graph::UniqueEvent unrecorded = make(true);
  const driver_graph::UniqueEvent untimed = make(false);
  for (const auto* event : {&first, &second, &untimed}) record(*event);
  ASSERT_TRUE(table.stream_synchronize(table.api, stream.get()));
  Gate gate;
  gate.close(table, stream.get());
  record(pending);

  const auto elapsed = [&](const driver_graph::UniqueEvent& from, const driver_graph::UniqueEvent& to) {
    return table.event_elapsed_ms(table.api, from.get(), to.get());
  };
  EXPECT_GE(elapsed(first, second).value(), 0);
  for (const auto* event : {&first, &pending, &unrecorded, &untimed}) {
    expect_refused(elapsed(untimed, *event), 400, "without timing");
    expect_refused(elapsed(*event, unrecorded), 400, event == &untimed ? "without timing" : "never recorded");
  }
  expect_refused(elapsed(first, untimed), 400, "without timing");
  expect_refused(elapsed(unrecorded, first), 400, "never recorded");
  expect_refused(elapsed(first, pending), 600, "");
  expect_refused(elapsed(pending, first), 600, "");
  gate.open();
  ASSERT_TRUE(table.stream_synchronize(table.api, stream.get()));
  EXPECT_GE(elapsed(first, pending).value(), 0);
}

TEST_P(SoftwareDriver, MemoryThatQueuedWorkUsesIsNotFreed) {
  const DriverRef driver = open();
  const DriverTable& table = driver->table();
  driver_graph::UniqueMemory used = allocate(driver);
  driver_graph::UniqueMemory unused = allocate(driver);
  const ContextScope scope(*driver);
  const driver_graph::UniqueStream stream(driver, table.stream_create(table.api).value());
  const driver_graph::UniqueGraph graph(driver, table.graph_create(table.api).value());
  ASSERT_TRUE(table.add_fill(table.api, graph.get(), {}, {used.get(), 1, 4, size / 4}));
  const driver_graph::UniqueExec exec(driver, table.instantiate(table.api, graph.get()).value());
  for (const bool is_used : {false, true}) {
    Gate gate;
    gate.close(table, stream.get());
    ASSERT_TRUE(table.exec_launch(table.api, exec.get(), stream.get()));
    // A free waits for the device.
    const std::string call = GetParam().is_cuda() ? "cuMemFree" : "hipFree";
    const int64_t calls = sim.count(call);
    const int64_t bytes = sim.live_bytes();
    std::thread frees([&] { (is_used ? used : unused) = {}; });
    while (sim.count(call) == calls) std::this_thread::yield();
    EXPECT_EQ(sim.live_bytes(), bytes);
    gate.open();
    frees.join();
    EXPECT_LT(sim.live_bytes(), bytes);
    expect_complaint(is_used ? "free of memory that queued work uses" : "");
  }
}

TEST_P(SoftwareDriver, CudaAloneUpdatesOrReleasesAGraphInFlight) {
  const DriverRef driver = open();
  const DriverTable& table = driver->table();
  const driver_graph::UniqueMemory memory = allocate(driver);
  const driver_graph::FillCall fill{memory.get(), 1, 4, size / 4};
  const ContextScope scope(*driver);
  const driver_graph::UniqueStream stream(driver, table.stream_create(table.api).value());
  const driver_graph::UniqueGraph graph(driver, table.graph_create(table.api).value());
  const auto node = table.add_fill(table.api, graph.get(), {}, fill).value();
  driver_graph::UniqueExec exec(driver, table.instantiate(table.api, graph.get()).value());
  Gate gate;
  gate.close(table, stream.get());
  ASSERT_TRUE(table.exec_launch(table.api, exec.get(), stream.get()));
  const Result<> in_flight = table.set_fill(table.api, exec.get(), node, fill);
  if (GetParam().is_cuda()) {
    EXPECT_TRUE(in_flight);
  } else {
    expect_refused(in_flight, 1, "update of an executable graph whose launch has not ended");
  }
  gate.open();
  ASSERT_TRUE(table.stream_synchronize(table.api, stream.get()));
  EXPECT_TRUE(table.set_fill(table.api, exec.get(), node, fill));
  expect_complaint("");
  Gate second;
  second.close(table, stream.get());
  ASSERT_TRUE(table.exec_launch(table.api, exec.get(), stream.get()));
  exec = {};
  expect_complaint(GetParam().is_cuda() ? "" : "release of an executable graph whose launch has not ended");
  second.open();
  EXPECT_TRUE(table.stream_synchronize(table.api, stream.get()));
}

INSTANTIATE_TEST_SUITE_P(Faces, SoftwareDriver, ::testing::ValuesIn(faces), face_name<Face>);

}  // namespace
}  // namespace pianola::test
