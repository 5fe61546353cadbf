// SPDX-License-Identifier: Apache-2.0
// Every driver call fails once: the error comes out with the call's name and number, nothing leaks, and a retry works.
#include <ostream>

#include "driver_fixture.hpp"

namespace pianola::test {
namespace {

struct Face {
  const char* spec;
  const char* path;
};
std::ostream& operator<<(std::ostream& out, const Face& face) {
  return out << face.spec;
}

class DriverFailures : public ::testing::TestWithParam<Face> {
 protected:
  static constexpr uint32_t n = 300;

  void SetUp() override {
    sim.add_builtin();
    sim.add(driver_kernels().kernels()[0], add_value);
    sim.fail_after(-1, 0);
    sim.revive();
    sim.forget_complaints();
  }

  /// Every kind of operation: both kinds of fill and of update, copy, dispatch, indirect dispatch.
  static Result<CommandBuffer> everything() {
    const KernelLibrary kernels = driver_kernels();
    Recorder recorder;
    const BufferRef x = recorder.buffer("x", n * 4);
    const BufferRef y = recorder.buffer("y", n * 4);
    const BufferRef counts = recorder.buffer("counts", 16);
    const BufferRef other = recorder.buffer("other", 4096);
    const std::array<uint32_t, 4> pattern = {1, 2, 3, 4};
    const std::vector<uint32_t> groups = {5, 1, 1};
    const std::vector<uint32_t> large(1024, 9);
    recorder.fill(x, 1U).fill(y, pattern).update(counts.view(0, 12), groups).update(other, large).barrier();
    recorder.dispatch(kernels["add_value"], {.groups = {5}, .constants = {1U, n}, .bindings = {x, y}}).barrier();
    recorder.dispatch_indirect(kernels["add_value"], counts.view(0, 12), {.constants = {1U, n}, .bindings = {y, x}})
        .barrier();
    recorder.copy(y, x);
    return recorder.finish();
  }

  /// Opens, allocates, instantiates, submits twice with different bindings, reads.
  Result<std::vector<uint32_t>> run(bool native_graph) {
    Result<Device> device = Device::open(GetParam().spec, {.driver_path = sim.path()});
    if (!device) return device.error();
    Result<CommandBuffer> commands = everything();
    if (!commands) return commands.error();
    Result<Graph> graph = device->instantiate(*commands, {.native_graph = native_graph});
    if (!graph) return graph.error();
    std::vector<uint32_t> values(n);
    for (int i = 0; i < 3; ++i) {
      std::vector<SlotBinding> bindings;
      Buffer last;
      for (const char* name : {"x", "counts", "other", "y"}) {
        Result<Buffer> buffer = device->allocate(4096);
        if (!buffer) return buffer.error();
        bindings.push_back({name, *buffer});
        last = *buffer;
      }
      Result<Submission> submission = device->queue().submit(*graph, {.bindings = bindings});
      if (!submission) return submission.error();
      Result<> done = submission->wait();
      if (done) done = last.read(0, values);
      if (!done) return done.error();
    }
    return values;
  }

  void sweep(bool native_graph, int status, int64_t step) {
    const std::vector<uint32_t> right(n, 3);
    const Result<std::vector<uint32_t>> clean = run(native_graph);
    ASSERT_TRUE(clean) << to_string(clean.error());
    ASSERT_EQ(*clean, right);
    const int64_t before = sim.call_count();
    ASSERT_EQ(run(native_graph).value(), right);
    const int64_t calls = sim.call_count() - before;
    ASSERT_GT(calls, 100);
    for (int64_t call = 0; call < calls; call += step) {
      sim.fail_after(call, status);
      const Result<std::vector<uint32_t>> result = run(native_graph);
      const std::string failed = sim.failed_call();
      sim.fail_after(-1, 0);
      if (result) {
        // A release that reports a failure, or an update that a fresh graph replaced.
        EXPECT_EQ(*result, right) << "call " << call << ", " << failed;
      } else {
        EXPECT_EQ(result.error().native_call, failed) << "call " << call << ": " << to_string(result.error());
        EXPECT_EQ(result.error().native_code, status);
      }
      ASSERT_EQ(sim.live_objects(), 0) << "call " << call << ", " << failed;
      ASSERT_EQ(sim.live_bytes(), 0) << "call " << call << ", " << failed;
    }
    EXPECT_EQ(run(native_graph).value(), right);
    EXPECT_EQ(sim.complaints(), "");
  }

  sim::SimDriver sim{GetParam().path};
};

TEST_P(DriverFailures, OutOfMemoryInAnyCallOfAGraphRunComesOutAndLeaksNothing) {
  sweep(true, 2, 1);
}

TEST_P(DriverFailures, AnUnknownErrorInCallsOfAGraphRunComesOutAndLeaksNothing) {
  sweep(true, 999, 5);
}

TEST_P(DriverFailures, OutOfMemoryInCallsOfAStreamRunComesOutAndLeaksNothing) {
  sweep(false, 2, 2);
}

INSTANTIATE_TEST_SUITE_P(Faces, DriverFailures,
                         ::testing::Values(Face{"cuda:0", PIANOLA_SIM_CUDA}, Face{"hip:0", PIANOLA_SIM_HIP}),
                         [](const auto& face) {
                           return std::string(face.param.spec == std::string("hip:0") ? "hip" : "cuda");
                         });

}  // namespace
}  // namespace pianola::test
