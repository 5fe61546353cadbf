// SPDX-License-Identifier: Apache-2.0
// Signals: counters that the host and the device wait for.
#include "state.hpp"

namespace sim::hsa {

bool holds(int64_t value, hsa_signal_condition_t condition, int64_t compare) {
  switch (condition) {
    case HSA_SIGNAL_CONDITION_EQ: return value == compare;
    case HSA_SIGNAL_CONDITION_NE: return value != compare;
    case HSA_SIGNAL_CONDITION_LT: return value < compare;
    case HSA_SIGNAL_CONDITION_GTE: return value >= compare;
  }
  return false;
}

Signal* Runtime::live_signal(hsa_signal_t handle) {
  auto* signal = reinterpret_cast<Signal*>(handle.handle);
  if (signals.count(signal) != 0) return signal;
  complain("signal is not alive");
  return nullptr;
}

void Runtime::set_signal(Signal& signal, int64_t value) {
  if (signal.rings != nullptr) {
    signal.rings->rung = std::max(signal.rings->rung, value);
  } else {
    __atomic_store_n(&signal.abi.value, value, __ATOMIC_RELEASE);
    changed.notify_all();
  }
  arrived.notify_all();
}

namespace {

hsa_status_t create(hsa_signal_value_t value, hsa_signal_t* handle) {
  Runtime& runtime = Runtime::instance();
  const std::lock_guard lock(runtime.mutex);
  auto* signal = new Signal;
  signal->abi.kind = AMD_SIGNAL_KIND_USER;
  signal->abi.value = value;
  runtime.signals.insert(signal);
  handle->handle = reinterpret_cast<uint64_t>(signal);
  return HSA_STATUS_SUCCESS;
}

/// value = change(value)
template <class Change>
void modify(hsa_signal_t handle, Change change) {
  Runtime& runtime = Runtime::instance();
  const std::lock_guard lock(runtime.mutex);
  if (Signal* signal = runtime.live_signal(handle)) runtime.set_signal(*signal, change(value_of(*signal)));
}

hsa_status_t read_times(hsa_signal_t handle, uint64_t& start, uint64_t& end) {
  Runtime& runtime = Runtime::instance();
  const std::lock_guard lock(runtime.mutex);
  const Signal* signal = runtime.live_signal(handle);
  if (signal == nullptr) return HSA_STATUS_ERROR_INVALID_SIGNAL;
  start = signal->abi.start_ts;
  end = signal->abi.end_ts;
  return HSA_STATUS_SUCCESS;
}

}  // namespace
}  // namespace sim::hsa

using namespace sim::hsa;  // NOLINT: every name below is the vendor's

extern "C" {

hsa_status_t hsa_signal_create(hsa_signal_value_t value, uint32_t, const hsa_agent_t*, hsa_signal_t* signal) {
  return create(value, signal);
}
hsa_status_t hsa_amd_signal_create(hsa_signal_value_t value, uint32_t, const hsa_agent_t*, uint64_t,
                                   hsa_signal_t* signal) {
  return create(value, signal);
}
hsa_status_t hsa_signal_destroy(hsa_signal_t handle) {
  Runtime& runtime = Runtime::instance();
  const std::lock_guard lock(runtime.mutex);
  Signal* signal = runtime.live_signal(handle);
  if (signal == nullptr) return HSA_STATUS_ERROR_INVALID_SIGNAL;
  if (std::erase_if(runtime.handlers, [&](const Handler& handler) { return handler.signal == signal; }) != 0) {
    runtime.complain("signal destroyed before its handler ran");
  }
  runtime.signals.erase(signal);
  delete signal;
  return HSA_STATUS_SUCCESS;
}
hsa_status_t hsa_amd_signal_value_pointer(hsa_signal_t handle, volatile hsa_signal_value_t** pointer) {
  *pointer = &reinterpret_cast<Signal*>(handle.handle)->abi.value;
  return HSA_STATUS_SUCCESS;
}
hsa_signal_value_t hsa_signal_load_relaxed(hsa_signal_t handle) {
  return value_of(*reinterpret_cast<const Signal*>(handle.handle));
}
void hsa_signal_store_relaxed(hsa_signal_t signal, hsa_signal_value_t value) {
  modify(signal, [&](int64_t) { return value; });
}
void hsa_signal_store_screlease(hsa_signal_t signal, hsa_signal_value_t value) {
  modify(signal, [&](int64_t) { return value; });
}
void hsa_signal_silent_store_relaxed(hsa_signal_t signal, hsa_signal_value_t value) {
  modify(signal, [&](int64_t) { return value; });
}
void hsa_signal_add_relaxed(hsa_signal_t signal, hsa_signal_value_t value) {
  modify(signal, [&](int64_t before) { return before + value; });
}
void hsa_signal_subtract_relaxed(hsa_signal_t signal, hsa_signal_value_t value) {
  modify(signal, [&](int64_t before) { return before - value; });
}
hsa_signal_value_t hsa_signal_wait_scacquire(hsa_signal_t handle, hsa_signal_condition_t condition,
                                             hsa_signal_value_t compare, uint64_t nanoseconds, hsa_wait_state_t) {
  Runtime& runtime = Runtime::instance();
  std::unique_lock lock(runtime.mutex);
  const Signal* signal = runtime.live_signal(handle);
  if (signal == nullptr) return 0;
  const auto is_met = [&] { return holds(value_of(*signal), condition, compare); };
  // As the real one, this may come back early.
  constexpr uint64_t longest = 1'000'000'000;
  runtime.changed.wait_for(lock, std::chrono::nanoseconds(std::min(nanoseconds, longest)), is_met);
  return value_of(*signal);
}
hsa_status_t hsa_amd_signal_async_handler(hsa_signal_t handle, hsa_signal_condition_t condition,
                                          hsa_signal_value_t value, hsa_amd_signal_handler function, void* argument) {
  Runtime& runtime = Runtime::instance();
  const std::lock_guard lock(runtime.mutex);
  Signal* signal = runtime.live_signal(handle);
  if (signal == nullptr) return HSA_STATUS_ERROR_INVALID_SIGNAL;
  runtime.handlers.push_back({signal, condition, value, function, argument});
  runtime.changed.notify_all();
  return HSA_STATUS_SUCCESS;
}
hsa_status_t hsa_amd_profiling_get_dispatch_time(hsa_agent_t, hsa_signal_t signal,
                                                 hsa_amd_profiling_dispatch_time_t* time) {
  return read_times(signal, time->start, time->end);
}
hsa_status_t hsa_amd_profiling_get_async_copy_time(hsa_signal_t signal, hsa_amd_profiling_async_copy_time_t* time) {
  return read_times(signal, time->start, time->end);
}

}  // extern "C"
