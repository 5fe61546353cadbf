// SPDX-License-Identifier: Apache-2.0
// Tests that run kernels of one library on the target that this process was started for.
#pragma once

#include <gtest/gtest.h>

#include <optional>

#include "runner.hpp"

namespace pianola::kernel_test {

inline std::string& target() {
  static std::string name = "x86-64";
  return name;
}
/// The level of host objects that this processor is said to have; empty: not said.
inline std::string& expected_choice() {
  static std::string name;
  return name;
}
inline bool is_vulkan() {
  return target() == "vulkan1.1";
}
inline bool is_metal() {
  return target() == "metal";
}
inline bool is_host() {
  return target().starts_with("x86-64") || target() == "aarch64";
}

/// The bytes of a vector, an array or a span.
struct Memory {
  template <class Container>
  Memory(Container&& values) : bytes(std::as_writable_bytes(std::span(values))) {}
  std::span<std::byte> bytes;
};

class KernelTest : public testing::Test {
 protected:
  explicit KernelTest(const Result<KernelLibrary>& library) : library_(library) {}
  void SetUp() override {
    ASSERT_TRUE(library_) << to_string(library_.error());
    auto runner = make_runner(target(), *library_);
    ASSERT_TRUE(runner) << to_string(runner.error());
    runner_ = std::move(*runner);
  }

  /// False, with a failure that says why, if the kernel did not run.
  bool run(std::string_view kernel, std::array<uint32_t, 3> groups, std::initializer_list<Memory> buffers,
           std::vector<uint32_t> constants) {
    Launch launch{.kernel = std::string(kernel), .groups = groups, .buffers = {}, .constants = std::move(constants)};
    for (const Memory& each : buffers) launch.buffers.push_back(each.bytes);
    const KernelInfo& expected = info(kernel);
    EXPECT_EQ(expected.bindings.size(), launch.buffers.size());
    EXPECT_EQ(expected.constant_bytes, 4 * launch.constants.size());
    const auto ok = runner_->run(launch);
    EXPECT_TRUE(ok) << kernel << ": " << to_string(ok.error());
    return ok.has_value();
  }
  const KernelInfo& info(std::string_view name) { return library_->kernels()[library_->find(name).value()]; }

  Result<KernelLibrary> library_;
  std::unique_ptr<Runner> runner_;
};

/// Workgroups of `size` threads for n threads.
inline uint32_t groups_for(size_t n, size_t size = 64) {
  return static_cast<uint32_t>((n + size - 1) / size);
}

}  // namespace pianola::kernel_test
