// SPDX-License-Identifier: Apache-2.0
// What tests ask of the stand-in: the functions of the software driver's control.h that make sense below a runtime.
#include <algorithm>
#include <cstring>

#include "driver/control.h"
#include "state.hpp"

using sim::hsa::Runtime;

namespace sim::hsa {

int refuse(const char* name) {
  Runtime& runtime = Runtime::instance();
  const std::lock_guard lock(runtime.mutex);
  runtime.complain(std::string(name) + " is not part of the stand-in");
  return HSA_STATUS_ERROR;
}

}  // namespace sim::hsa

extern "C" {

void pianola_sim_register(const pianola_sim_kernel* kernel) {
  Runtime& runtime = Runtime::instance();
  const std::lock_guard lock(runtime.mutex);
  runtime.kernels[kernel->symbol] = sim::kernel_from(*kernel);
}

void pianola_sim_set_seed(uint64_t seed) {
  Runtime& runtime = Runtime::instance();
  const std::lock_guard lock(runtime.mutex);
  runtime.random.seed(seed);
}

int64_t pianola_sim_live_objects(void) {
  Runtime& runtime = Runtime::instance();
  const std::lock_guard lock(runtime.mutex);
  return static_cast<int64_t>(runtime.signals.size() + runtime.queues.size() + runtime.locked.size() +
                              runtime.memory.size()) +
         runtime.code_objects;
}

int64_t pianola_sim_live_bytes(void) {
  Runtime& runtime = Runtime::instance();
  const std::lock_guard lock(runtime.mutex);
  return static_cast<int64_t>(runtime.used);
}

int64_t pianola_sim_count(const char* what) {
  Runtime& runtime = Runtime::instance();
  const std::lock_guard lock(runtime.mutex);
  const auto at = runtime.counts.find(what);
  return at == runtime.counts.end() ? 0 : at->second;
}

int pianola_sim_complaints(char* text, size_t size) {
  Runtime& runtime = Runtime::instance();
  const std::lock_guard lock(runtime.mutex);
  std::string all;
  for (const std::string& line : runtime.complaints) all += line + "\n";
  if (size != 0) {
    const size_t length = std::min(size - 1, all.size());
    std::memcpy(text, all.data(), length);
    text[length] = 0;
  }
  return static_cast<int>(runtime.complaints.size());
}

void pianola_sim_forget_complaints(void) {
  Runtime& runtime = Runtime::instance();
  const std::lock_guard lock(runtime.mutex);
  runtime.complaints.clear();
}

}  // extern "C"
