// SPDX-License-Identifier: Apache-2.0
// Runs independent jobs side by side.
#pragma once

#include <cstdint>
#include <functional>

namespace pianola::kernel_build {

/// Calls job(0) to job(count - 1), at most `workers` at a time (0: one a processor). Returns when all have ended.
/// The first exception of a job is thrown on; jobs that have not begun by then are left out.
void run_parallel(uint32_t count, uint32_t workers, const std::function<void(uint32_t)>& job);

}  // namespace pianola::kernel_build
