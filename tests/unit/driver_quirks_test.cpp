// SPDX-License-Identifier: Apache-2.0
// What a version of a driver is known to do wrong is kept away from it; which code suits a device.
#include "backend/cuda/facts.hpp"
#include "backend/hip/facts.hpp"
#include "driver_fixture.hpp"

namespace pianola::test {
namespace {

constexpr int rocm(int major, int minor) {
  return major * 10000000 + minor * 100000;
}

class HipQuirks : public ::testing::Test {
 protected:
  void SetUp() override { prepare(sim); }
  void TearDown() override {
    kept.clear();
    sim.set_version(0);
    expect_nothing_left(sim);
  }
  /// A device of that version of the runtime, by another spelling of the path each time, since it is loaded once.
  Device open(int version) const {
    static std::string spelling;
    spelling += "/";
    std::string path = sim.path();
    path.insert(path.rfind('/'), spelling);
    sim.set_version(version);
    return Device::open("hip:0", {.driver_path = path}).value();
  }
  /// A fill, and after it eight dispatches that read it.
  static Graph fan(const Device& device, uint32_t lanes) {
    Recorder recorder;
    const BufferRef x = recorder.buffer("x", 256);
    recorder.fill(x, 1U).barrier();
    for (uint32_t i = 0; i < 8; ++i) {
      const BufferRef y = recorder.buffer("y" + std::to_string(i), 256);
      recorder.dispatch(driver_kernels()["add_value"], {.constants = {i, 64U}, .bindings = {x, y}});
    }
    return device.instantiate(recorder.finish().value(), {.plan = {.lanes = lanes}}).value();
  }
  /// Each run on memory of its own, which is kept, so that no later one gets it again.
  void run(const Device& device, const Graph& graph) {
    std::vector<Buffer> results;
    kept.push_back(device.allocate(256).value());
    std::vector<SlotBinding> bindings = {{"x", kept.back()}};
    for (uint32_t i = 0; i < 8; ++i) {
      results.push_back(device.allocate(256).value());
      bindings.push_back({"y" + std::to_string(i), results.back()});
    }
    kept.insert(kept.end(), results.begin(), results.end());
    ASSERT_TRUE(device.queue().submit(graph, {.bindings = bindings}).value().wait());
    for (uint32_t i = 0; i < 8; ++i) {
      std::vector<uint32_t> values(64);
      ASSERT_TRUE(results[i].read(0, values));
      EXPECT_EQ(values, std::vector<uint32_t>(64, i + 1));
    }
  }
  /// How many nodes of the graph wait for its first one.
  size_t children_of_first(const Device& device, const Graph& graph) {
    run(device, graph);
    const std::string text = graph.native_description();
    size_t count = 0;
    for (size_t at = text.find("  0 -> "); at != std::string::npos; at = text.find("  0 -> ", at + 1)) ++count;
    return count;
  }

  sim::SimDriver sim{faces[1].path};
  std::vector<Buffer> kept;
};

TEST_F(HipQuirks, Rocm54AloneReplaysOnStreams) {
  for (const int minor : {3, 4, 5}) {
    const Device device = open(rocm(5, minor));
    const int64_t launches = sim.count("hipGraphLaunch");
    run(device, fan(device, 4));
    EXPECT_EQ(sim.count("hipGraphLaunch") - launches, minor == 4 ? 0 : 1) << minor;
  }
}

TEST_F(HipQuirks, GraphsAreChainsBefore64) {
  const Device device = open(rocm(6, 3));
  EXPECT_EQ(children_of_first(device, fan(device, 4)), 1U);
}

TEST_F(HipQuirks, From64OnGraphsOfMoreThanFourLanesAreChains) {
  const Device device = open(rocm(6, 4));
  EXPECT_EQ(children_of_first(device, fan(device, 4)), 4U);
  EXPECT_EQ(children_of_first(device, fan(device, 5)), 1U);
  EXPECT_EQ(children_of_first(device, fan(device, 8)), 1U);
}

TEST_F(HipQuirks, APlanOfMoreThan4096NodesIsSeveralGraphs) {
  const Device device = open(rocm(6, 4));
  for (const int nodes : {4096, 4097}) {
    Recorder recorder;
    const BufferRef x = recorder.buffer("x", 256);
    for (int i = 0; i < nodes; ++i) recorder.fill(x, static_cast<uint32_t>(i)).barrier();
    const Graph graph = device.instantiate(recorder.finish().value()).value();
    const int64_t launches = sim.count("hipGraphLaunch");
    const Buffer memory = device.allocate(256).value();
    ASSERT_TRUE(device.queue().submit(graph, {.bindings = {{"x", memory}}}).value().wait());
    EXPECT_EQ(sim.count("hipGraphLaunch") - launches, nodes - 4095);
    std::vector<uint32_t> values(64);
    ASSERT_TRUE(memory.read(0, values));
    EXPECT_EQ(values, std::vector<uint32_t>(64, nodes - 1));
  }
}

TEST_F(HipQuirks, From64OnARebindBuildsAFreshGraph) {
  for (const int version : {rocm(6, 3), rocm(6, 4), rocm(7, 0)}) {
    const Device device = open(version);
    const Graph graph = fan(device, 4);
    for (int i = 0; i < 2; ++i) run(device, graph);
    const int64_t updates = sim.count("hipGraphExecKernelNodeSetParams");
    const int64_t built = sim.count("hipGraphInstantiateWithFlags");
    run(device, graph);
    const bool is_fresh = version != rocm(6, 3);
    EXPECT_EQ(sim.count("hipGraphExecKernelNodeSetParams") == updates, is_fresh);
    EXPECT_EQ(sim.count("hipGraphInstantiateWithFlags") - built, is_fresh ? 1 : 0);
  }
}

TEST_F(HipQuirks, CopiesInGraphsAreKernelsBefore56) {
  for (const int version : {rocm(5, 5), rocm(5, 6)}) {
    const Device device = open(version);
    Recorder recorder;
    const BufferRef x = recorder.buffer("x", 4096);
    const BufferRef y = recorder.buffer("y", 4096);
    recorder.update(x, std::vector<uint32_t>(1024, 5)).barrier().copy(y, x);
    const Graph graph = device.instantiate(recorder.finish().value()).value();
    const Buffer to = device.allocate(4096).value();
    const int64_t copies = sim.count("hipGraphAddMemcpyNode1D");
    ASSERT_TRUE(
        device.queue().submit(graph, {.bindings = {{"x", device.allocate(4096).value()}, {"y", to}}}).value().wait());
    EXPECT_EQ(sim.count("hipGraphAddMemcpyNode1D") - copies, version == rocm(5, 5) ? 0 : 2);
    std::vector<uint32_t> values(1024);
    ASSERT_TRUE(to.read(0, values));
    EXPECT_EQ(values, std::vector<uint32_t>(1024, 5));
  }
}

int hip_rank(const std::string& arch) {
  driver_graph::DeviceFacts facts;
  facts.arch = "gfx90a";
  facts.features = ":sramecc+:xnack-";
  return hip::code_rank(facts, {.format = ObjectFormat::hsaco, .arch = arch, .bytes = {}, .entries = {}});
}

TEST(HipCode, FeaturesThatCodeNamesMustBeTheDevices) {
  EXPECT_GT(hip_rank("gfx90a"), 0);
  EXPECT_GT(hip_rank("gfx90a:xnack-"), hip_rank("gfx90a"));
  EXPECT_GT(hip_rank("gfx90a:sramecc+:xnack-"), hip_rank("gfx90a:xnack-"));
  for (const char* other : {"gfx90a:xnack+", "gfx90a:sramecc+:xnack+", "gfx90a:xnack", "gfx908", "gfx90"}) {
    EXPECT_EQ(hip_rank(other), 0) << other;
  }
}

TEST(HipCode, OffsetsThatWrapOrEndPastTheFileAreNoCode) {
  const std::vector<std::byte> code = amd_object("kernel");
  ASSERT_TRUE(hip::check_image(code));
  Elf64_Ehdr header{};
  std::memcpy(&header, code.data(), sizeof header);
  const auto expect_corrupt = [&](const Elf64_Ehdr& changed) {
    std::vector<std::byte> image = code;
    std::memcpy(image.data(), &changed, sizeof changed);
    EXPECT_EQ(hip::check_image(image).error().code, Errc::corrupt);
  };
  Elf64_Ehdr segments = header;
  segments.e_phnum = 1;
  segments.e_phoff = 0 - sizeof(Elf64_Phdr);
  expect_corrupt(segments);
  segments.e_phoff = code.size() - sizeof(Elf64_Phdr) + 1;
  expect_corrupt(segments);
  Elf64_Ehdr sections = header;
  sections.e_shoff = 0 - uint64_t{header.e_shnum} * sizeof(Elf64_Shdr);
  expect_corrupt(sections);
  sections.e_shoff = code.size() - header.e_shnum * sizeof(Elf64_Shdr) + 1;
  expect_corrupt(sections);
}

int cuda_rank(ObjectFormat format, const std::string& arch) {
  driver_graph::DeviceFacts facts;
  facts.arch = "sm_103";
  return cuda::code_rank(facts, {.format = format, .arch = arch, .bytes = {}, .entries = {}});
}

TEST(CudaCode, CodeForOneArchitecturesOwnFeaturesRunsNowhereElse) {
  EXPECT_GT(cuda_rank(ObjectFormat::cubin, "sm_100"), cuda_rank(ObjectFormat::ptx, "sm_100"));
  EXPECT_GT(cuda_rank(ObjectFormat::cubin, "sm_103a"), 0);
  EXPECT_EQ(cuda_rank(ObjectFormat::cubin, "sm_100a"), 0);
  EXPECT_EQ(cuda_rank(ObjectFormat::ptx, "sm_100a"), 0);
  EXPECT_EQ(cuda_rank(ObjectFormat::cubin, "sm_90"), 0);
}

}  // namespace
}  // namespace pianola::test
