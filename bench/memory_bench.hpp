// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <benchmark/benchmark.h>

#include "pianola/device.hpp"

namespace bench {

/// Sets the counters of record/memory/<device>.
void measure_memory(benchmark::State& state, const pianola::Device& device);

}  // namespace bench
