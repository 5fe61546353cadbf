// SPDX-License-Identifier: Apache-2.0
// What interop/cuda.hpp and interop/hip.hpp have in common; `backend` is whose objects are asked for.
#pragma once

#include <string_view>
#include <vector>

#include "backend/driver_graph/device.hpp"
#include "pianola/device.hpp"
#include "pianola/queue.hpp"

namespace pianola::interop {

using driver_graph::GraphDevice;

/// Null if the device is empty or of another backend.
GraphDevice* device_of(const Device& device, std::string_view backend);
Result<void*> stream_of(const Queue& queue, std::string_view backend);
Result<Queue> queue_on(const Device& device, std::string_view backend, void* stream);
std::vector<void*> graphs_of(const Graph& graph, std::string_view backend);
Result<> signal_behind(const Semaphore& semaphore, uint64_t value, const Device& device, std::string_view backend,
                       void* stream);

}  // namespace pianola::interop
