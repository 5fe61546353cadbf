// SPDX-License-Identifier: Apache-2.0
#include "api/driver_interop.hpp"

#include <fmt/format.h>

#include "api/impl.hpp"
#include "backend/driver_graph/executable.hpp"
#include "base/guarded.hpp"

namespace pianola::interop {
namespace {

using driver_graph::ContextScope;
using driver_graph::DriverTable;
using driver_graph::GraphExecutable;
using driver_graph::GraphQueue;
using driver_graph::Stream;

bool is_of(const Device::Impl& device, std::string_view backend) {
  return std::string_view(device.spec).substr(0, device.spec.find(':')) == backend;
}

Error not_of(std::string_view what, std::string_view backend) {
  return Error{.code = Errc::invalid_argument, .message = fmt::format("the {} is empty or not of {}", what, backend)};
}

/// A queue that is not one of its device's own.
struct ImportedQueue {
  std::shared_ptr<Device::Impl> device;
  std::unique_ptr<backend::CommandQueue> backend;
  Queue::Impl queue;
};

/// What a semaphore gets when a stream comes to it.
struct Signal {
  std::shared_ptr<Semaphore::State> semaphore;
  uint64_t value = 0;

  void give(int status) const noexcept {
    if (status != 0) {
      semaphore->fail({.code = Errc::execution_failed, .message = "the stream failed", .native_code = status});
      return;
    }
    const Result<> done = guarded([&] { return semaphore->signal(value); });
    if (!done) semaphore->fail(done.error());
  }
};

}  // namespace

GraphDevice* device_of(const Device& device, std::string_view backend) {
  if (!device || !is_of(*device.impl(), backend)) return nullptr;
  return static_cast<GraphDevice*>(device.impl()->backend.get());
}

Result<void*> stream_of(const Queue& queue, std::string_view backend) {
  return guarded([&]() -> Result<void*> {
    if (!queue || !is_of(*queue.impl()->device, backend)) return not_of("queue", backend);
    const Result<Stream> stream = static_cast<GraphQueue*>(queue.impl()->backend)->native();
    if (!stream) return stream.error();
    return static_cast<void*>(*stream);
  });
}

Result<Queue> queue_on(const Device& device, std::string_view backend, void* stream) {
  return guarded([&]() -> Result<Queue> {
    const GraphDevice* graph_device = device_of(device, backend);
    if (graph_device == nullptr) return not_of("device", backend);
    if (stream == nullptr) return not_of("stream", backend);
    auto made = std::make_shared<ImportedQueue>();
    made->device = device.impl();
    made->backend = std::make_unique<GraphQueue>(graph_device->driver(), static_cast<Stream>(stream));
    made->queue.device = device.impl().get();
    made->queue.backend = made->backend.get();
    return Queue(std::shared_ptr<Queue::Impl>(made, &made->queue));
  });
}

std::vector<void*> graphs_of(const Graph& graph, std::string_view backend) {
  if (!graph || !is_of(*graph.impl()->device, backend)) return {};
  const auto native = static_cast<const GraphExecutable&>(*graph.impl()->executable).native();
  return {native.begin(), native.end()};
}

Result<> signal_behind(const Semaphore& semaphore, uint64_t value, const Device& device, std::string_view backend,
                       void* stream) {
  return guarded([&]() -> Result<> {
    const GraphDevice* graph_device = device_of(device, backend);
    if (graph_device == nullptr) return not_of("device", backend);
    if (stream == nullptr || !semaphore) return not_of("stream or semaphore", backend);
    const ContextScope scope(*graph_device->driver());
    if (!scope.status()) return scope.status();
    const DriverTable& table = graph_device->driver()->table();
    auto signal = std::make_unique<Signal>(Signal{semaphore.state(), value});
    const auto callback = [](void*, int status, void* data) {
      std::unique_ptr<Signal>(static_cast<Signal*>(data))->give(status);
    };
    Result<> done = table.stream_callback(table.api, static_cast<Stream>(stream), callback, signal.get());
    if (!done) return graph_device->driver()->note(std::move(done.error()));
    // The callback owns it now.
    (void)signal.release();  // NOLINT(bugprone-unused-return-value)
    return {};
  });
}

}  // namespace pianola::interop
