// SPDX-License-Identifier: Apache-2.0
#include "control.hpp"

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

namespace sim_metal {
namespace {

struct Fault {
  bool armed = false;
  uint32_t left = 0;
  int64_t code = 0;
};

struct State {
  std::mutex mutex;
  Settings settings;
  std::vector<std::string> findings;
  std::vector<std::string> labels;
  Counts counts;
  uint32_t fallible = 0;
  Fault call;
  Fault command_buffer;
  State();
};

State::State() {
  auto is = [](const char* name, const char* value) {
    const char* text = std::getenv(name);
    return text != nullptr && std::strcmp(text, value) == 0;
  };
  if (is("SIM_METAL_ALIGNMENT", "apple")) settings.alignment = AlignmentRule::apple;
  if (is("SIM_METAL_MEMORY", "discrete")) settings.unified_memory = false;
  if (is("SIM_METAL_ADDRESSES", "none")) settings.gpu_addresses = false;
  settings.strict = is("SIM_METAL_STRICT", "1");
  if (const char* seed = std::getenv("SIM_METAL_SEED")) {
    settings.seed = static_cast<uint32_t>(std::strtoul(seed, nullptr, 0));
  }
}

/// Never destroyed: objects of the device may outlive static destruction.
State& state() {
  static State* const it = new State;
  return *it;
}
std::atomic<long> live{0};

/// True when the countdown of an armed fault has come to this call.
bool fires(Fault& fault) {
  if (!fault.armed) return false;
  if (fault.left-- > 0) return false;
  fault.armed = false;
  return true;
}

}  // namespace

void report(const char* rule, const char* format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  auto& s = state();
  const std::lock_guard lock(s.mutex);
  s.findings.push_back(std::string(rule) + ": " + text);
  if (!s.settings.strict) return;
  std::fprintf(stderr, "software Metal: %s: %s\n", rule, text);
  std::abort();
}

Settings settings() {
  const std::lock_guard lock(state().mutex);
  return state().settings;
}
void configure(const Settings& settings) {
  const std::lock_guard lock(state().mutex);
  state().settings = settings;
}

std::vector<std::string> take_findings() {
  const std::lock_guard lock(state().mutex);
  return std::exchange(state().findings, {});
}

Counts counts() {
  const std::lock_guard lock(state().mutex);
  return state().counts;
}
void reset_counts() {
  const std::lock_guard lock(state().mutex);
  state().counts = {};
}
void with_counts(void (*change)(Counts&, uint64_t), uint64_t by) {
  const std::lock_guard lock(state().mutex);
  change(state().counts, by);
}

long live_objects() {
  return live;
}
void count_object(long by) {
  live += by;
}

void note_label(const std::string& label) {
  const std::lock_guard lock(state().mutex);
  state().labels.push_back(label);
}
std::vector<std::string> take_labels() {
  const std::lock_guard lock(state().mutex);
  return std::exchange(state().labels, {});
}

uint32_t fallible_calls() {
  const std::lock_guard lock(state().mutex);
  return state().fallible;
}
bool shall_fail() {
  const std::lock_guard lock(state().mutex);
  ++state().fallible;
  return fires(state().call);
}
std::optional<int64_t> command_buffer_fault() {
  const std::lock_guard lock(state().mutex);
  auto& fault = state().command_buffer;
  return fires(fault) ? std::optional(fault.code) : std::nullopt;
}
void fail_call(uint32_t number) {
  const std::lock_guard lock(state().mutex);
  state().call = {true, number, 0};
}
void fail_command_buffer(uint32_t number, int64_t error_code) {
  const std::lock_guard lock(state().mutex);
  state().command_buffer = {true, number, error_code};
}
void clear_faults() {
  const std::lock_guard lock(state().mutex);
  state().call = {};
  state().command_buffer = {};
}

}  // namespace sim_metal
