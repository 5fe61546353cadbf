// SPDX-License-Identifier: Apache-2.0
// Every driver call fails once: the error comes out with the call's name and number, nothing leaks, and a retry works.
#include <thread>

#include "driver_fixture.hpp"

namespace pianola::test {
namespace {

class DriverFailures : public ::testing::TestWithParam<Face> {
 protected:
  static constexpr uint32_t n = 300;

  static KernelLibrary kernels_of_sweep() { return driver_kernels(4096); }

  void SetUp() override {
    prepare(sim);
    sim.add(kernels_of_sweep().kernels()[0], add_value);
  }

  /// Every kind of operation but the driver's own fill, which small ranges do not get.
  static Result<CommandBuffer> everything() {
    const KernelLibrary kernels = kernels_of_sweep();
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

  static constexpr uint64_t fill_size = uint64_t{4} << 20;

  static Result<CommandBuffer> one_fill() {
    Recorder recorder;
    recorder.fill(recorder.buffer("y", fill_size), 3U);
    return recorder.finish();
  }
  /// Of one list or the other. The fill's ranges lie in one buffer, since memory of that size takes its time.
  Result<std::vector<SlotBinding>> bind(const Device& device, size_t set, Buffer& large) const {
    std::vector<SlotBinding> bindings;
    if (is_fill) {
      Result<Buffer> buffer = large ? large : device.allocate(fill_size + 512);
      if (!buffer) return buffer.error();
      large = *buffer;
      bindings.push_back({"y", large.view(256 * set, fill_size)});
      return bindings;
    }
    for (const char* name : {"x", "counts", "other", "y"}) {
      Result<Buffer> buffer = device.allocate(4096);
      if (!buffer) return buffer.error();
      bindings.push_back({name, *buffer});
    }
    return bindings;
  }

  /// Opens, allocates, instantiates, submits with three sets of bindings and with the first again, reads each time.
  Result<std::vector<uint32_t>> run_here(bool native_graph) {
    Result<Device> device = Device::open(GetParam().spec(), {.driver_path = path});
    if (!device) return device.error();
    Result<CommandBuffer> commands = is_fill ? one_fill() : everything();
    if (!commands) return commands.error();
    Result<Graph> graph = device->instantiate(*commands, {.native_graph = native_graph, .timestamps = is_timed});
    if (!graph) return graph.error();
    std::vector<uint32_t> values(n);
    Buffer large;
    std::vector<std::vector<SlotBinding>> sets;
    for (size_t set = 0; set < 3; ++set) {
      Result<std::vector<SlotBinding>> bindings = bind(*device, set, large);
      if (!bindings) return bindings.error();
      sets.push_back(std::move(*bindings));
    }
    for (const size_t set : {0, 1, 2, 0}) {
      Buffer result = sets[set].back().buffer.buffer();
      const uint64_t offset = sets[set].back().buffer.offset();
      Result<> done = result.write(offset, std::vector<uint32_t>(n));
      if (!done) return done.error();
      Result<Submission> submission = device->queue().submit(*graph, {.bindings = sets[set]});
      if (!submission) return submission.error();
      done = submission->wait();
      if (done) done = result.read(offset, values);
      if (!done) return done.error();
      if (values != std::vector<uint32_t>(n, 3)) break;
    }
    return values;
  }

  /// The same on a thread of its own: one whose context a call failed to restore would never again be without.
  Result<std::vector<uint32_t>> run(bool native_graph) {
    Result<std::vector<uint32_t>> result{std::vector<uint32_t>()};
    std::thread([&] { result = run_here(native_graph); }).join();
    return result;
  }

  /// Calls whose failure a run survives: a release; an update, for which a fresh graph is built; a look at an event
  /// that another thread's look overtakes. "" is a site that this run did not come by.
  static bool may_pass(const std::string& call) {
    if (call.empty() || is_context(call)) return true;
    for (const char* part : {"Destroy", "Free", "Release", "Unload", "SetParams", "EventSynchronize", "EventQuery"}) {
      if (call.find(part) != std::string::npos) return true;
    }
    return false;
  }
  /// What makes the device current: a run survives its failure around a release, and nowhere else.
  static bool is_context(const std::string& call) {
    return call == "cuCtxGetCurrent" || call == "cuCtxSetCurrent" || call == "hipGetDevice" || call == "hipSetDevice";
  }

  /// One run after another: the first tells where calls come from, the others fail one call each.
  void sweep(bool native_graph, int status) {
    // Of one site: a thread that asks whether work is done may do so for ever.
    const int64_t most = is_fill || is_timed ? 10 : 300;
    const std::vector<uint32_t> right(n, 3);
    ASSERT_EQ(run(native_graph).value(), right);
    std::vector<uint64_t> sites;
    size_t failed_runs = 0;
    size_t failed_contexts = 0;
    size_t at = 0;
    int64_t calls = -1;
    do {
      if (calls < 0) {
        sim.gather_sites(true);
      } else {
        sim.fail_at(sites[at], calls, status);
      }
      const Result<std::vector<uint32_t>> result = run(native_graph);
      const std::string failed = sim.failed_call();
      sim.fail_after(-1, 0);
      const std::string what = failed + ", call " + std::to_string(calls) + " of site " + std::to_string(at);
      if (result) {
        ASSERT_EQ(*result, right) << what;
        ASSERT_TRUE(may_pass(failed)) << what;
      } else {
        ASSERT_EQ(result.error().native_call, failed) << what << ": " << to_string(result.error());
        ASSERT_EQ(result.error().native_code, status) << what;
        ++failed_runs;
        if (is_context(failed)) ++failed_contexts;
      }
      ASSERT_EQ(sim.live_objects(), 0) << what;
      ASSERT_EQ(sim.live_bytes(), 0) << what;
      ASSERT_EQ(sim.complaints(), "") << what;
      if (calls < 0) {
        sim.gather_sites(false);
        sites = sim.sites();
        calls = 0;
      } else if (failed.empty() || ++calls == most) {
        ++at;
        calls = 0;
      }
    } while (at < sites.size());
    EXPECT_GT(sites.size(), is_fill ? 30U : 60U);
    EXPECT_GT(failed_runs, 30U);
    EXPECT_GT(failed_contexts, 10U);
    EXPECT_EQ(run(native_graph).value(), right);
    EXPECT_EQ(sim.complaints(), "");
  }

  sim::SimDriver sim{GetParam().path};
  std::string path = updating_driver(sim, GetParam());
  bool is_fill = false;
  bool is_timed = false;
};

TEST_P(DriverFailures, OutOfMemoryInAnyCallOfAGraphRunComesOutAndLeaksNothing) {
  sweep(true, 2);
}

TEST_P(DriverFailures, AnUnknownErrorInAnyCallOfAGraphRunComesOutAndLeaksNothing) {
  sweep(true, 999);
}

TEST_P(DriverFailures, OutOfMemoryInAnyCallOfAStreamRunComesOutAndLeaksNothing) {
  sweep(false, 2);
}

TEST_P(DriverFailures, AnUnknownErrorInAnyCallOfAStreamRunComesOutAndLeaksNothing) {
  sweep(false, 999);
}

TEST_P(DriverFailures, AnErrorInAnyCallOfTheDriversOwnFillsComesOutAndLeaksNothing) {
  const bool is_cuda = GetParam().is_cuda();
  is_fill = true;
  for (const char* call : is_cuda ? std::array{"cuGraphAddMemsetNode", "cuGraphExecMemsetNodeSetParams"}
                                  : std::array{"hipGraphAddMemsetNode", "hipGraphExecMemsetNodeSetParams"}) {
    const int64_t calls = sim.count(call);
    EXPECT_TRUE(run(true));
    EXPECT_GT(sim.count(call), calls) << call;
  }
  sweep(true, 999);
  const int64_t calls = sim.count(is_cuda ? "cuMemsetD32Async" : "hipMemsetD32Async");
  sweep(false, 2);
  EXPECT_GT(sim.count(is_cuda ? "cuMemsetD32Async" : "hipMemsetD32Async"), calls);
}

TEST_P(DriverFailures, AnErrorInAnyCallOfATimedRunComesOutAndLeaksNothing) {
  is_timed = true;
  const std::string call = GetParam().is_cuda() ? "cuEventElapsedTime" : "hipEventElapsedTime";
  const int64_t calls = sim.count(call);
  sweep(true, 999);
  EXPECT_GT(sim.count(call), calls);
}

INSTANTIATE_TEST_SUITE_P(Faces, DriverFailures, ::testing::ValuesIn(faces), face_name<Face>);

}  // namespace
}  // namespace pianola::test
