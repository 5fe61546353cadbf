// SPDX-License-Identifier: Apache-2.0
#include "kernel_build/parallel.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>

namespace pianola::kernel_build {
namespace {

TEST(KernelParallelThreads, AnExceptionOfAJobReachesTheCaller) {
  for (const uint32_t workers : {1U, 4U}) {
    std::atomic<uint32_t> ran{0};
    const auto run = [&] {
      run_parallel(100, workers, [&](uint32_t job) {
        ++ran;
        if (job >= 50) throw std::runtime_error("no memory");
      });
    };
    EXPECT_THROW(run(), std::runtime_error);
    EXPECT_GE(ran, 50U);
    EXPECT_LE(ran, 60U);
  }
}

}  // namespace
}  // namespace pianola::kernel_build
