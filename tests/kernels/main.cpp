// SPDX-License-Identifier: Apache-2.0
// usage: pianola_kernel_tests --target=TARGET [--level=LEVEL] [GoogleTest options]
// Targets: see runner.hpp. LEVEL is what this processor is said to run, such as x86-64-v3.
// Ends with 77, and says why, where nothing runs that target.
#include <gtest/gtest.h>

#include <cstdio>

#include "fixture.hpp"
#include "format/builtin_kernels.hpp"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  using namespace pianola;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (option.starts_with("--target=")) kernel_test::target() = option.substr(9);
    if (option.starts_with("--level=")) kernel_test::expected_choice() = option.substr(8);
  }
  const auto runner = kernel_test::make_runner(kernel_test::target(), builtin_kernels());
  if (!runner) {
    std::printf("skipped: %s\n", runner.error().message.c_str());
    return runner.error().code == Errc::no_device ? 77 : 1;
  }
  return RUN_ALL_TESTS();
}
