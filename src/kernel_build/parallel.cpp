// SPDX-License-Identifier: Apache-2.0
#include "kernel_build/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace pianola::kernel_build {

void run_parallel(uint32_t count, uint32_t workers, const std::function<void(uint32_t)>& job) {
  if (workers == 0) workers = std::max(1U, std::thread::hardware_concurrency());
  std::atomic<uint32_t> next{0};
  const auto work = [&] {
    for (uint32_t index = next++; index < count; index = next++) job(index);
  };
  std::vector<std::jthread> others;
  for (uint32_t i = 1; i < std::min(workers, count); ++i) others.emplace_back(work);
  work();
}

}  // namespace pianola::kernel_build
