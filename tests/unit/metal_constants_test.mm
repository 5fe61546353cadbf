// SPDX-License-Identifier: Apache-2.0
// S8: constant blocks of every size up to the limit, given with the dispatch, pushed, and named.
#include "metal_device_test.hpp"
#include "metal_kernels.hpp"

namespace pianola::metal_test {
namespace {

using MetalConstants = MetalDeviceTest;

/// For each number of words up to the limit a kernel constants_<words> that stores them.
KernelLibrary storing_kernels() {
  std::string source = prologue;
  std::vector<KernelInfo> infos;
  for (uint32_t words = 1; words <= max_constant_bytes / 4; ++words) {
    source += fmt::format(
        "struct Words_{0} {{ uint v[{0}]; }};\n"
        "kernel void constants_{0}(device uint* to [[buffer(0)]], constant Words_{0}& c [[buffer(30)]]) {{\n"
        "  for (uint i = 0; i < {0}; ++i) to[i] = c.v[i];\n}}\n",
        words);
    KernelInfo info{.name = fmt::format("constants_{}", words), .constant_bytes = 4 * words, .workgroup = {1, 1, 1}};
    info.bindings = {{.name = "to", .binding = 0, .access = Access::out, .element_size = 4}};
    info.constants = {{"words", 0, 4 * words}};
    infos.push_back(std::move(info));
  }
  return library_of(std::move(infos), source);
}

}  // namespace

TEST_F(MetalConstants, EverySizeArrivesGivenPushedAndNamed) {
  const KernelLibrary kernels = storing_kernels();
  Recorder rec;
  std::vector<ConstantBinding> named;
  std::vector<std::pair<std::vector<uint32_t>, std::array<Buffer, 3>>> all;
  for (uint32_t words = 1; words <= max_constant_bytes / 4; ++words) {
    std::vector<uint32_t> values(words);
    for (uint32_t i = 0; i < words; ++i) values[i] = 1000 * words + i;
    std::array<Buffer, 3> to;
    for (auto& buffer : to) {
      buffer = *device.allocate(4 * words);
      ASSERT_TRUE(buffer.write(0, std::vector<uint32_t>(words, 7)));
    }
    const auto name = fmt::format("c{}", words);
    const Kernel kernel = kernels["constants_" + std::to_string(words)];
    const auto block = std::as_bytes(std::span(values));
    rec.dispatch(kernel, {.constants = Constants::from_bytes(block), .bindings = {rec.buffer(to[0])}});
    rec.push_constants(0, std::span<const std::byte>(block)).dispatch(kernel, {.bindings = {rec.buffer(to[1])}});
    rec.dispatch(kernel, {.constants = {rec.constant(name, 4 * words)}, .bindings = {rec.buffer(to[2])}});
    named.emplace_back(name, std::span<const std::byte>(block));
    all.emplace_back(values, to);
  }
  const auto submission = device.queue().run(*rec.finish(), {.constants = named});
  ASSERT_TRUE(submission) << to_string(submission.error());
  ASSERT_TRUE(submission->wait());
  for (const auto& [values, to] : all) {
    for (const auto& buffer : to) {
      std::vector<uint32_t> got(values.size());
      ASSERT_TRUE(buffer.read(0, got));
      EXPECT_EQ(got, values);
    }
  }
}

}  // namespace pianola::metal_test
