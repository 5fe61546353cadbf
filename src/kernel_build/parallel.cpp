// SPDX-License-Identifier: Apache-2.0
#include "kernel_build/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace pianola::kernel_build {
namespace {

/// std::jthread is missing from some C++20 libraries.
struct Joined {
  ~Joined() {
    for (std::thread& thread : threads) thread.join();
  }
  std::vector<std::thread> threads;
};

}  // namespace

void run_parallel(uint32_t count, uint32_t workers, const std::function<void(uint32_t)>& job) {
  if (workers == 0) workers = std::max(1U, std::thread::hardware_concurrency());
  std::atomic<uint32_t> next{0};
  std::exception_ptr thrown;
  std::once_flag first;
  const auto work = [&] {
    try {
      for (uint32_t index = next++; index < count; index = next++) job(index);
    } catch (...) {
      std::call_once(first, [&] { thrown = std::current_exception(); });
      next = count;
    }
  };
  {
    Joined others;
    for (uint32_t i = 1; i < std::min(workers, count); ++i) others.threads.emplace_back(work);
    work();
  }
  if (thrown != nullptr) std::rethrow_exception(thrown);
}

}  // namespace pianola::kernel_build
