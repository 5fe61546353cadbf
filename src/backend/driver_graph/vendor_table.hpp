// SPDX-License-Identifier: Apache-2.0
// The entries of the table that both vendors fill alike, but for the names of the functions. Each entry is one call.
#pragma once

#include <algorithm>
#include <mutex>

#include "backend/driver_graph/vendor_api.hpp"

namespace pianola::driver_graph {

template <class Vendor>
class VendorTable {
 public:
  using Api = VendorApi<Vendor>;
  using KernelNodeParams = typename Vendor::KernelNodeParams;
  using MemsetNodeParams = typename Vendor::MemsetNodeParams;

  static const Api& api_of(const void* self) { return *static_cast<const Api*>(self); }
  static MemsetNodeParams params_of(const FillCall& call) {
    MemsetNodeParams params{};
    params.destination = call.destination;
    params.value = call.value;
    params.element_size = call.element;
    params.width = call.count;
    params.height = 1;  // several rows are wrong in HIP 5.2 to 5.4
    return params;
  }
  static KernelNodeParams params_of(const KernelCall& call) {
    KernelNodeParams params{};
    params.function = call.function;
    std::copy(call.groups.begin(), call.groups.end(), params.grid);
    std::copy(call.workgroup.begin(), call.workgroup.end(), params.block);
    params.shared_bytes = call.dynamic_shared_bytes;
    params.arguments = call.arguments;
    return params;
  }

  static void fill_in(DriverTable& table, const Api& api) {
    table.api = &api;
    table.markers = api.markers;
    table.facts.limits.timestamps = true;
    add_memory(table);
    add_streams(table);
    add_events(table);
    add_modules(table);
    add_graphs(table);
    if (api.f.graph_dot) {
      table.graph_dot = [](const void* self, GraphObject graph, const std::string& path) {
        return api_of(self).call(api_of(self).f.graph_dot, graph, path.c_str(), abi::dot_verbose);
      };
    }
  }

 private:
  static void add_memory(DriverTable& table) {
    table.allocate = [](const void* self, uint64_t size) {
      return api_of(self).make(api_of(self).f.memory_allocate, size);
    };
    table.free = [](const void* self, void* memory) { return api_of(self).call(api_of(self).f.memory_free, memory); };
    table.allocate_host = [](const void* self, uint64_t size) {
      return api_of(self).make(api_of(self).f.host_allocate, size, abi::host_alloc_portable | abi::host_alloc_mapped);
    };
    table.free_host = [](const void* self, void* memory) {
      return api_of(self).call(api_of(self).f.host_free, memory);
    };
  }

  static void add_streams(DriverTable& table) {
    table.stream_create = [](const void* self) {
      return api_of(self).make(api_of(self).f.stream_create, abi::stream_non_blocking);
    };
    table.stream_destroy = [](const void* self, Stream stream) {
      return api_of(self).call(api_of(self).f.stream_destroy, stream);
    };
    table.stream_synchronize = [](const void* self, Stream stream) {
      return api_of(self).call(api_of(self).f.stream_synchronize, stream);
    };
    table.stream_wait = [](const void* self, Stream stream, Event event) {
      return api_of(self).call(api_of(self).f.stream_wait_event, stream, event, 0U);
    };
    table.stream_callback = [](const void* self, Stream stream, StreamCallback callback, void* data) {
      return api_of(self).call(api_of(self).f.stream_add_callback, stream, callback, data, 0U);
    };
    table.stream_kernel = [](const void* self, Stream stream, const KernelCall& call) {
      const std::lock_guard lock(api_of(self).launch_mutex);
      const auto& [gx, gy, gz] = call.groups;
      const auto& [bx, by, bz] = call.workgroup;
      return api_of(self).call(api_of(self).f.launch, call.function, gx, gy, gz, bx, by, bz, call.dynamic_shared_bytes,
                               stream, call.arguments, nullptr);
    };
    table.stream_fill = [](const void* self, Stream stream, const FillCall& call) {
      const Api& api = api_of(self);
      void* to = call.destination;
      switch (call.element) {
        case 1: return api.call(api.f.set_d8, to, static_cast<uint8_t>(call.value), call.count, stream);
        case 2: return api.call(api.f.set_d16, to, static_cast<uint16_t>(call.value), call.count, stream);
        default: return api.call(api.f.set_d32, to, call.value, call.count, stream);
      }
    };
  }

  static void add_events(DriverTable& table) {
    table.event_create = [](const void* self, bool timed) {
      return api_of(self).make(api_of(self).f.event_create, timed ? 0U : abi::event_disable_timing);
    };
    table.event_destroy = [](const void* self, Event event) {
      return api_of(self).call(api_of(self).f.event_destroy, event);
    };
    table.event_record = [](const void* self, Event event, Stream stream) {
      return api_of(self).call(api_of(self).f.event_record, event, stream);
    };
    table.event_is_done = [](const void* self, Event event) -> Result<bool> {
      const Api& api = api_of(self);
      const abi::Status status = api.f.event_query(event);
      if (status != abi::success && status != abi::not_ready) return api.error(api.f.event_query.name(), status);
      return status == abi::success;
    };
    table.event_synchronize = [](const void* self, Event event) {
      return api_of(self).call(api_of(self).f.event_synchronize, event);
    };
    table.event_elapsed_ms = [](const void* self, Event first, Event second) {
      return api_of(self).make(api_of(self).f.event_elapsed, first, second);
    };
  }

  static void add_modules(DriverTable& table) {
    table.module_unload = [](const void* self, Module module) {
      return api_of(self).call(api_of(self).f.module_unload, module);
    };
    table.module_function = [](const void* self, Module module, const std::string& name) {
      return api_of(self).make(api_of(self).f.module_function, module, name.c_str());
    };
  }

  static void add_graphs(DriverTable& table) {
    table.graph_create = [](const void* self) {
      const std::lock_guard lock(api_of(self).launch_mutex);
      return api_of(self).make(api_of(self).f.graph_create, 0U);
    };
    table.graph_destroy = [](const void* self, GraphObject graph) {
      return api_of(self).call(api_of(self).f.graph_destroy, graph);
    };
    table.add_kernel = [](const void* self, GraphObject graph, std::span<const Node> after, const KernelCall& call) {
      const KernelNodeParams params = params_of(call);
      const std::lock_guard lock(api_of(self).launch_mutex);
      return api_of(self).make(api_of(self).f.graph_add_kernel, graph, after.data(), after.size(), &params);
    };
    table.instantiate = [](const void* self, GraphObject graph) {
      return api_of(self).make(api_of(self).f.graph_instantiate, graph, 0ULL);
    };
    table.exec_destroy = [](const void* self, Exec exec) {
      return api_of(self).call(api_of(self).f.exec_destroy, exec);
    };
    table.exec_launch = [](const void* self, Exec exec, Stream stream) {
      const std::lock_guard lock(api_of(self).launch_mutex);
      return api_of(self).call(api_of(self).f.graph_launch, exec, stream);
    };
    table.set_kernel = [](const void* self, Exec exec, Node node, const KernelCall& call) {
      const KernelNodeParams params = params_of(call);
      const std::lock_guard lock(api_of(self).launch_mutex);
      return api_of(self).call(api_of(self).f.exec_set_kernel, exec, node, &params);
    };
  }
};

}  // namespace pianola::driver_graph
