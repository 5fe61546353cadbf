// SPDX-License-Identifier: Apache-2.0
// A kernel of the software driver that gets no further while a gate is shut.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

#include "driver_fixture.hpp"

namespace pianola::test {

inline std::atomic<bool> gate_is_open{true};

/// add_value once the gate is open.
inline void gated_add(const pianola_host_launch* launch) {
  while (!gate_is_open) std::this_thread::sleep_for(std::chrono::microseconds(100));
  add_value(launch);
}

}  // namespace pianola::test
