// SPDX-License-Identifier: Apache-2.0
// The profilers' libraries, under both vendors' names: they write down which ranges were opened and closed.
#include <cstring>
#include <mutex>
#include <string>

namespace {

std::mutex mutex;
std::string ranges;

int add(const std::string& text) {
  const std::lock_guard lock(mutex);
  ranges += text;
  return 0;
}

}  // namespace

extern "C" {

int nvtxRangePushA(const char* label) {
  return add(std::string("(") + label);
}
int nvtxRangePop(void) {
  return add(")");
}
int roctxRangePushA(const char* label) {
  return add(std::string("(") + label);
}
int roctxRangePop(void) {
  return add(")");
}

/// What was opened and closed since the last time: "(outer(inner))".
void pianola_sim_take_ranges(char* text, size_t size) {
  const std::lock_guard lock(mutex);
  std::strncpy(text, ranges.c_str(), size - 1);
  ranges.clear();
}

}  // extern "C"
