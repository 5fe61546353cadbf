// SPDX-License-Identifier: Apache-2.0
#include "pianola/interop/hip.hpp"

#include "api/driver_interop.hpp"

namespace pianola::interop::hip {
namespace {

constexpr std::string_view backend = "hip";

}  // namespace

int native_device(const Device& device) {
  const GraphDevice* graph_device = device_of(device, backend);
  return graph_device != nullptr ? graph_device->driver()->table().device : -1;
}

Result<void*> native_stream(const Queue& queue) {
  return stream_of(queue, backend);
}

Result<Queue> import_queue(const Device& device, void* stream) {
  return queue_on(device, backend, stream);
}

std::vector<void*> native_graphs(const Graph& graph) {
  return graphs_of(graph, backend);
}

Result<> signal_when(const Semaphore& semaphore, uint64_t value, const Device& device, void* stream) {
  return signal_behind(semaphore, value, device, backend, stream);
}

}  // namespace pianola::interop::hip
