// SPDX-License-Identifier: Apache-2.0
// Which host objects the CPU device takes. The same test also runs under emulated processors of other levels.
#include "backend/cpu/kernels.hpp"
#include "fixture.hpp"

namespace pianola::kernel_test {
namespace {

TEST(HostChoice, IsTheBestLevelThatTheProcessorHas) {
  const std::vector<std::string_view> chosen = backend::cpu::host_architectures();
  ASSERT_FALSE(chosen.empty());
#if defined(__x86_64__)
  std::vector<std::string_view> expected = {"x86-64"};
#if !defined(__APPLE__)  // where no host object is loaded
  // Instructions that only compilers for these levels use.
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("f16c")) {
    expected.insert(expected.begin(), "x86-64-v3");
    if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) {
      expected.insert(expected.begin(), "x86-64-v4");
    }
  }
#endif
  EXPECT_EQ(chosen, expected);
#else
  EXPECT_EQ(chosen.front(), "aarch64");
#endif
  if (!expected_choice().empty()) {
    EXPECT_EQ(chosen.front(), expected_choice());
  }
}

}  // namespace
}  // namespace pianola::kernel_test
