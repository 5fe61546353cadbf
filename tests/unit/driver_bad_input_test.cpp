// SPDX-License-Identifier: Apache-2.0
// Libraries that are no driver, code that is no code, work over the limits: a clear error each, and the process lives.
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "driver_fixture.hpp"

namespace pianola::test {
namespace {

struct NamedFace : Face {
  const char* name;   ///< what messages call it
  const char* first;  ///< a function that it must have, and another
  const char* last;
  const char* load;
  int old_version;
  const char* old_text;
};

class DriverBadInput : public ::testing::TestWithParam<NamedFace> {
 protected:
  void SetUp() override { prepare(sim); }
  void TearDown() override { expect_nothing_left(sim); }
  Device open() const { return Device::open(GetParam().spec(), {.driver_path = sim.path()}).value(); }
  static std::string refusal(const std::string& path) {
    const Result<Device> device = Device::open(GetParam().spec(), {.driver_path = path});
    EXPECT_FALSE(device);
    if (device) return {};
    EXPECT_EQ(device.error().code, Errc::no_device);
    return device.error().message;
  }
  /// The kernel add_value with `shared` bytes of workgroup memory and this code, said to be of `arch`.
  static KernelLibrary library(const std::string& arch, std::span<const std::byte> code, uint32_t shared = 0,
                               uint32_t dynamic_shared = 0) {
    format::LibraryContents contents;
    contents.name = "bad";
    const KernelLibrary kernels = driver_kernels();
    contents.kernels.assign(kernels.kernels().begin(), kernels.kernels().end());
    contents.kernels[0].shared_bytes = shared;
    contents.kernels[0].dynamic_shared_bytes = dynamic_shared;
    const bool is_cuda = GetParam().is_cuda();
    contents.objects.push_back(
        {is_cuda ? ObjectFormat::ptx : ObjectFormat::hsaco, arch, {code.begin(), code.end()}, {{0, "add_value"}}});
    return KernelLibrary::from_bytes(format::write_library(contents).value()).value();
  }
  static std::string own_arch() { return GetParam().is_cuda() ? "sm_70" : "gfx90a"; }
  static std::vector<std::byte> own_code() {
    const size_t at = GetParam().is_cuda() ? 0 : 1;
    const KernelLibrary kernels = driver_kernels();
    const auto code = kernels.objects()[at].bytes;
    return {code.begin(), code.end()};
  }
  static std::vector<std::byte> bytes_of(const std::string& text) {
    const auto* at = reinterpret_cast<const std::byte*>(text.data());
    return {at, at + text.size()};
  }
  /// One dispatch of a library's kernel.
  static Result<Graph> instantiate(const Device& device, const KernelLibrary& kernels,
                                   std::array<uint32_t, 3> groups = {1, 1, 1}) {
    Recorder recorder;
    const BufferRef x = recorder.buffer("x", 256);
    const BufferRef y = recorder.buffer("y", 256);
    recorder.dispatch(kernels["add_value"],
                      {.groups = {groups[0], groups[1], groups[2]}, .constants = {1U, 64U}, .bindings = {x, y}});
    return device.instantiate(recorder.finish().value());
  }
  static Error failure(const Result<Graph>& graph) {
    EXPECT_FALSE(graph);
    return graph ? Error{} : graph.error();
  }

  sim::SimDriver sim{GetParam().path};
};

TEST_P(DriverBadInput, ALibraryThatIsNoDriverIsRefusedWithAllThatItLacks) {
  const std::string text = refusal("libm.so.6");
  EXPECT_NE(text.find(std::string("'libm.so.6' is not a ") + GetParam().name), std::string::npos) << text;
  EXPECT_NE(text.find(GetParam().first), std::string::npos) << text;
  EXPECT_NE(text.find(GetParam().last), std::string::npos) << text;
}

TEST_P(DriverBadInput, AFileThatIsNoLibraryIsRefused) {
  const std::string path = ::testing::TempDir() + "pianola-no-library-" + std::to_string(getpid());
  std::ofstream(path) << "not a library";
  EXPECT_NE(refusal(path).find(path), std::string::npos);
  std::remove(path.c_str());
  EXPECT_NE(refusal(path).find(path), std::string::npos) << "nor one that does not exist";
}

TEST_P(DriverBadInput, ADriverThatIsTooOldIsRefusedWithBothVersions) {
  // Another spelling of the path each time, since a driver is loaded once.
  static std::string spelling;
  spelling += "/.";
  std::string path = sim.path();
  path.insert(path.rfind('/'), spelling);
  sim.set_version(GetParam().old_version);
  const std::string text = refusal(path);
  sim.set_version(0);
  EXPECT_NE(text.find(GetParam().old_text), std::string::npos) << text;
  EXPECT_TRUE(Device::open(GetParam().spec(), {.driver_path = path})) << "and is asked again";
}

TEST_P(DriverBadInput, CodeForAnotherArchitectureIsNoCode) {
  const Device device = open();
  const bool is_cuda = GetParam().is_cuda();
  const Error error = failure(instantiate(device, library(is_cuda ? "sm_120" : "gfx1100", own_code())));
  EXPECT_EQ(error.code, Errc::missing_kernel);
  EXPECT_NE(error.message.find(is_cuda ? "sm_120" : "gfx1100"), std::string::npos) << error.message;
  EXPECT_NE(error.message.find("not for "), std::string::npos) << error.message;
}

TEST_P(DriverBadInput, CodeThatIsOfAnotherArchitectureThanItSaysIsRefusedByTheDriver) {
  const Device device = open();
  std::vector<std::byte> code = own_code();
  if (GetParam().is_cuda()) {
    code = bytes_of(".version 8.7\n.target sm_120\n.visible .entry add_value(\n");
  } else {
    reinterpret_cast<Elf64_Ehdr*>(code.data())->e_flags = 0x41;  // gfx1100
  }
  const Error error = failure(instantiate(device, library(own_arch(), code)));
  EXPECT_EQ(error.code, Errc::missing_kernel);
  EXPECT_EQ(error.native_call, GetParam().load);
  EXPECT_EQ(error.native_code, 209);
  EXPECT_EQ(error.command, 0U);
  EXPECT_TRUE(instantiate(device, driver_kernels())) << "the device still works";
}

TEST_P(DriverBadInput, JunkAsCodeIsFoundBeforeTheDriverSeesIt) {
  const Device device = open();
  std::vector<std::vector<std::byte>> junk = {bytes_of("junk"), std::vector<std::byte>(5000, std::byte{0xA5})};
  if (!GetParam().is_cuda()) {
    const std::vector<std::byte> code = own_code();
    junk.emplace_back(code.begin(), code.begin() + 80);  // its sections lie behind its end
    junk.push_back(code);
    reinterpret_cast<Elf64_Ehdr*>(junk.back().data())->e_machine = EM_X86_64;
  }
  for (const std::vector<std::byte>& code : junk) {
    const int64_t loads = sim.count(GetParam().load);
    const Error error = failure(instantiate(device, library(own_arch(), code)));
    EXPECT_EQ(error.code, Errc::corrupt) << error.message;
    EXPECT_EQ(sim.count(GetParam().load), loads);
  }
  EXPECT_TRUE(instantiate(device, driver_kernels())) << "the device still works";
}

TEST_P(DriverBadInput, CodeWithoutItsKernelIsRefusedWithTheKernelsName) {
  const Device device = open();
  const std::vector<std::byte> code =
      GetParam().is_cuda() ? bytes_of(".version 6.3\n.target sm_70\n.visible .entry other(\n") : amd_object("other");
  const Error error = failure(instantiate(device, library(own_arch(), code)));
  EXPECT_EQ(error.code, Errc::missing_kernel);
  EXPECT_NE(error.message.find("'add_value'"), std::string::npos) << error.message;
}

TEST_P(DriverBadInput, GroupsAndWorkgroupMemoryOverTheLimitAreRefusedWithTheLimit) {
  const Device device = open();
  const std::array<uint32_t, 3> most = device.limits().max_groups;
  for (size_t dimension = 0; dimension < 3; ++dimension) {
    std::array<uint32_t, 3> groups = {1, 1, 1};
    groups[dimension] = most[dimension];
    EXPECT_TRUE(instantiate(device, driver_kernels(), groups));
    if (++groups[dimension] == 0) continue;
    const Error error = failure(instantiate(device, driver_kernels(), groups));
    EXPECT_EQ(error.code, Errc::limit_exceeded);
    EXPECT_NE(error.message.find(std::to_string(most[dimension])), std::string::npos) << error.message;
  }
  const uint32_t shared = device.limits().max_shared_bytes;
  for (const uint32_t bytes : {0U, shared - 4, shared}) {
    EXPECT_TRUE(instantiate(device, library(own_arch(), own_code(), bytes))) << bytes;
  }
  const Error error = failure(instantiate(device, library(own_arch(), own_code(), shared + 4)));
  EXPECT_EQ(error.code, Errc::limit_exceeded);
  EXPECT_NE(error.message.find(std::to_string(shared)), std::string::npos) << error.message;
}

TEST_P(DriverBadInput, DynamicWorkgroupMemoryCountsWithTheStaticAgainstItsOwnLimit) {
  const Device device = open();
  const uint32_t most_static = device.limits().max_shared_bytes;
  const uint32_t most = device.limits().max_dynamic_shared_bytes;
  EXPECT_EQ(most > most_static, GetParam().is_cuda()) << "HIP has no more than it gives to all";
  const std::pair<uint32_t, uint32_t> good[] = {{0, 4}, {0, most}, {most_static - 8, most - most_static + 8}, {8, 64}};
  for (const auto& [fixed, dynamic] : good) {
    const KernelLibrary kernels = library(own_arch(), own_code(), fixed, dynamic);
    sim.add(kernels.kernels()[0], add_value);
    const Result<Graph> graph = instantiate(device, kernels);
    EXPECT_TRUE(graph) << fixed << " and " << dynamic << ": " << (graph ? "" : to_string(graph.error()));
  }
  const std::pair<uint32_t, uint32_t> bad[] = {{0, most + 1}, {8, most}, {most_static, UINT32_MAX}};
  for (const auto& [fixed, dynamic] : bad) {
    const Error error = failure(instantiate(device, library(own_arch(), own_code(), fixed, dynamic)));
    EXPECT_EQ(error.code, Errc::limit_exceeded);
    for (const uint64_t number : {uint64_t{fixed} + dynamic, uint64_t{dynamic}, uint64_t{most}}) {
      EXPECT_NE(error.message.find(std::to_string(number)), std::string::npos) << error.message;
    }
  }
}

TEST_P(DriverBadInput, ADeviceLostInTheMiddleOfAReplaySaysSoFromThenOn) {
  for (const bool native_graph : {true, false}) {
    for (int64_t pieces = 0; pieces < 4; ++pieces) {
      const Device device = open();
      const Buffer x = device.allocate(4096).value();
      const Buffer y = device.allocate(4096).value();
      Recorder recorder;
      const BufferRef a = recorder.buffer(x);
      const BufferRef b = recorder.buffer(y);
      for (int i = 0; i < 5; ++i) {
        recorder.dispatch(driver_kernels()["add_value"], {.groups = {16}, .constants = {1U, 1024U}, .bindings = {a, b}})
            .barrier();
      }
      const Graph graph = device.instantiate(recorder.finish().value(), {.native_graph = native_graph}).value();
      sim.fault_after(pieces);
      const Submission lost = device.queue().submit(graph).value();
      const Result<> done = lost.wait();
      ASSERT_FALSE(done);
      EXPECT_EQ(done.error().code, Errc::execution_failed);
      EXPECT_EQ(done.error().native_code, 700);
      EXPECT_EQ(device.queue(1).submit(graph).value().wait().error().code, Errc::device_lost);
      EXPECT_EQ(device.allocate(16).error().code, Errc::device_lost);
      EXPECT_EQ(instantiate(device, driver_kernels()).error().code, Errc::device_lost);
      EXPECT_EQ(Buffer::import(device, {.pointer = x.native_pointer(), .size = 16}).error().code, Errc::device_lost);
      sim.revive();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Faces, DriverBadInput,
                         ::testing::Values(NamedFace{faces[0], "CUDA driver of 12.0 or later", "cuInit",
                                                     "cuGraphLaunch", "cuModuleLoadData", 11080,
                                                     "is a CUDA driver of version 11.8; 12.0 or later is needed"},
                                           NamedFace{faces[1], "HIP runtime of 5.2 or later", "hipInit",
                                                     "hipGraphLaunch", "hipModuleLoadData", 50100000,
                                                     "is a HIP runtime of version 5.1; 5.2 or later is needed"}),
                         face_name<NamedFace>);

}  // namespace
}  // namespace pianola::test
