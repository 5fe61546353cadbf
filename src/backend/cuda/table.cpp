// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/table.hpp"

#include <algorithm>
#include <cstring>

#include "backend/cuda/facts.hpp"

namespace pianola::cuda {
namespace {

using namespace driver_graph;  // NOLINT: the neutral names

const Api& api_of(const void* api) {
  return *static_cast<const Api*>(api);
}

/// Handles are the driver's own pointers under neutral names.
template <class To, class From>
To handle(From from) {
  return reinterpret_cast<To>(from);
}

DevicePointer pointer(const void* address) {
  return reinterpret_cast<DevicePointer>(address);
}

/// A value that a driver call gave, or its error. By reference: the call that sets it is an argument too.
template <class To, class From>
Result<To> given(const Api& api, const char* call, Status status, const From& value) {
  if (status != success) return api.error(call, status);
  return handle<To>(value);
}

KernelNodeParams params_of(const KernelCall& call) {
  KernelNodeParams params{};
  params.function = handle<FunctionHandle>(call.function);
  std::copy(call.groups.begin(), call.groups.end(), params.grid);
  std::copy(call.workgroup.begin(), call.workgroup.end(), params.block);
  params.arguments = call.arguments;
  return params;
}

MemsetNodeParams params_of(const FillCall& call) {
  MemsetNodeParams params{};
  params.destination = pointer(call.destination);
  params.value = call.value;
  params.element_size = call.element;
  params.width = call.count;
  params.height = 1;
  return params;
}

/// The driver has no one-dimensional copy node. Unified: it finds out from the address where memory is.
Memcpy3D params_of(const CopyCall& call) {
  Memcpy3D params{};
  params.source_type = memory_unified;
  params.source_device = pointer(call.source);
  params.destination_type = memory_unified;
  params.destination_device = pointer(call.destination);
  params.width = call.size;
  params.height = 1;
  params.depth = 1;
  return params;
}

/// Memset and memcpy nodes want the context by name; it is the current one.
Result<ContextHandle> current_context(const Api& api) {
  ContextHandle context = nullptr;
  const Status status = api.f.context_get_current(&context);
  if (status != success) return api.error("cuCtxGetCurrent", status);
  return context;
}

void add_context_and_memory(DriverTable& table) {
  table.swap_context = [](const void* self, Context context) -> Result<Context> {
    const Api& api = api_of(self);
    Result<ContextHandle> before = current_context(api);
    if (!before) return before.error();
    if (*before == handle<ContextHandle>(context)) return context;
    return given<Context>(api, "cuCtxSetCurrent", api.f.context_set_current(handle<ContextHandle>(context)), *before);
  };
  table.allocate = [](const void* self, uint64_t size) -> Result<void*> {
    const Api& api = api_of(self);
    DevicePointer made = 0;
    return given<void*>(api, "cuMemAlloc", api.f.memory_allocate(&made, size), made);
  };
  table.free = [](const void* self, void* memory) -> Result<> {
    const Api& api = api_of(self);
    return api.check("cuMemFree", api.f.memory_free(pointer(memory)));
  };
  table.allocate_host = [](const void* self, uint64_t size) -> Result<void*> {
    const Api& api = api_of(self);
    void* made = nullptr;
    const Status status = api.f.host_allocate(&made, size, host_alloc_portable | host_alloc_mapped);
    return given<void*>(api, "cuMemHostAlloc", status, made);
  };
  table.free_host = [](const void* self, void* memory) -> Result<> {
    const Api& api = api_of(self);
    return api.check("cuMemFreeHost", api.f.host_free(memory));
  };
}

void add_streams(DriverTable& table) {
  table.stream_create = [](const void* self) -> Result<Stream> {
    const Api& api = api_of(self);
    StreamHandle made = nullptr;
    return given<Stream>(api, "cuStreamCreate", api.f.stream_create(&made, stream_non_blocking), made);
  };
  table.stream_destroy = [](const void* self, Stream stream) -> Result<> {
    const Api& api = api_of(self);
    return api.check("cuStreamDestroy", api.f.stream_destroy(handle<StreamHandle>(stream)));
  };
  table.stream_synchronize = [](const void* self, Stream stream) -> Result<> {
    const Api& api = api_of(self);
    return api.check("cuStreamSynchronize", api.f.stream_synchronize(handle<StreamHandle>(stream)));
  };
  table.stream_wait = [](const void* self, Stream stream, Event event) -> Result<> {
    const Api& api = api_of(self);
    return api.check("cuStreamWaitEvent",
                     api.f.stream_wait_event(handle<StreamHandle>(stream), handle<EventHandle>(event), 0));
  };
  table.stream_kernel = [](const void* self, Stream stream, const KernelCall& call) -> Result<> {
    const Api& api = api_of(self);
    const auto& [gx, gy, gz] = call.groups;
    const auto& [bx, by, bz] = call.workgroup;
    return api.check("cuLaunchKernel", api.f.launch(handle<FunctionHandle>(call.function), gx, gy, gz, bx, by, bz, 0,
                                                    handle<StreamHandle>(stream), call.arguments, nullptr));
  };
  table.stream_fill = [](const void* self, Stream stream, const FillCall& call) -> Result<> {
    const Api& api = api_of(self);
    const DevicePointer to = pointer(call.destination);
    const auto on = handle<StreamHandle>(stream);
    switch (call.element) {
      case 1: return api.check("cuMemsetD8Async", api.f.set_d8(to, static_cast<uint8_t>(call.value), call.count, on));
      case 2:
        return api.check("cuMemsetD16Async", api.f.set_d16(to, static_cast<uint16_t>(call.value), call.count, on));
      default: return api.check("cuMemsetD32Async", api.f.set_d32(to, call.value, call.count, on));
    }
  };
  table.stream_copy = [](const void* self, Stream stream, const CopyCall& call) -> Result<> {
    const Api& api = api_of(self);
    return api.check("cuMemcpyAsync", api.f.copy(pointer(call.destination), pointer(call.source), call.size,
                                                 handle<StreamHandle>(stream)));
  };
}

void add_events(DriverTable& table) {
  table.event_create = [](const void* self, bool timed) -> Result<Event> {
    const Api& api = api_of(self);
    EventHandle made = nullptr;
    const unsigned flags = event_blocking_sync | (timed ? 0U : event_disable_timing);
    return given<Event>(api, "cuEventCreate", api.f.event_create(&made, flags), made);
  };
  table.event_destroy = [](const void* self, Event event) -> Result<> {
    const Api& api = api_of(self);
    return api.check("cuEventDestroy", api.f.event_destroy(handle<EventHandle>(event)));
  };
  table.event_record = [](const void* self, Event event, Stream stream) -> Result<> {
    const Api& api = api_of(self);
    return api.check("cuEventRecord", api.f.event_record(handle<EventHandle>(event), handle<StreamHandle>(stream)));
  };
  table.event_is_done = [](const void* self, Event event) -> Result<bool> {
    const Api& api = api_of(self);
    const Status status = api.f.event_query(handle<EventHandle>(event));
    if (status != success && status != not_ready) return api.error("cuEventQuery", status);
    return status == success;
  };
  table.event_synchronize = [](const void* self, Event event) -> Result<> {
    const Api& api = api_of(self);
    return api.check("cuEventSynchronize", api.f.event_synchronize(handle<EventHandle>(event)));
  };
  table.event_elapsed_ms = [](const void* self, Event first, Event second) -> Result<float> {
    const Api& api = api_of(self);
    float time = 0;
    const Status status = api.f.event_elapsed(&time, handle<EventHandle>(first), handle<EventHandle>(second));
    if (status != success) return api.error("cuEventElapsedTime", status);
    return time;
  };
}

void add_modules(DriverTable& table) {
  table.module_load = [](const void* self, std::span<const std::byte> image, ObjectFormat format) -> Result<Module> {
    const Api& api = api_of(self);
    Result<> sound = check_image(image, format);
    if (!sound) return sound.error();
    // PTX is text that ends with a zero; the file need not hold one.
    const std::string copy(reinterpret_cast<const char*>(image.data()), image.size());
    ModuleHandle made = nullptr;
    return given<Module>(api, "cuModuleLoadData", api.f.module_load(&made, copy.c_str()), made);
  };
  table.module_unload = [](const void* self, Module module) -> Result<> {
    const Api& api = api_of(self);
    return api.check("cuModuleUnload", api.f.module_unload(handle<ModuleHandle>(module)));
  };
  table.module_function = [](const void* self, Module module, const std::string& name) -> Result<Function> {
    const Api& api = api_of(self);
    FunctionHandle made = nullptr;
    const Status status = api.f.module_function(&made, handle<ModuleHandle>(module), name.c_str());
    return given<Function>(api, "cuModuleGetFunction", status, made);
  };
}

void add_graphs(DriverTable& table) {
  table.graph_create = [](const void* self) -> Result<GraphObject> {
    const Api& api = api_of(self);
    GraphHandle made = nullptr;
    return given<GraphObject>(api, "cuGraphCreate", api.f.graph_create(&made, 0), made);
  };
  table.graph_destroy = [](const void* self, GraphObject graph) -> Result<> {
    const Api& api = api_of(self);
    return api.check("cuGraphDestroy", api.f.graph_destroy(handle<GraphHandle>(graph)));
  };
  table.add_kernel = [](const void* self, GraphObject graph, std::span<const Node> after,
                        const KernelCall& call) -> Result<Node> {
    const Api& api = api_of(self);
    const KernelNodeParams params = params_of(call);
    NodeHandle made = nullptr;
    const Status status = api.f.graph_add_kernel(&made, handle<GraphHandle>(graph),
                                                 handle<const NodeHandle*>(after.data()), after.size(), &params);
    return given<Node>(api, "cuGraphAddKernelNode", status, made);
  };
  table.add_fill = [](const void* self, GraphObject graph, std::span<const Node> after,
                      const FillCall& call) -> Result<Node> {
    const Api& api = api_of(self);
    const MemsetNodeParams params = params_of(call);
    Result<ContextHandle> context = current_context(api);
    if (!context) return context.error();
    NodeHandle made = nullptr;
    const Status status = api.f.graph_add_memset(
        &made, handle<GraphHandle>(graph), handle<const NodeHandle*>(after.data()), after.size(), &params, *context);
    return given<Node>(api, "cuGraphAddMemsetNode", status, made);
  };
  table.add_copy = [](const void* self, GraphObject graph, std::span<const Node> after,
                      const CopyCall& call) -> Result<Node> {
    const Api& api = api_of(self);
    const Memcpy3D params = params_of(call);
    Result<ContextHandle> context = current_context(api);
    if (!context) return context.error();
    NodeHandle made = nullptr;
    const Status status = api.f.graph_add_memcpy(
        &made, handle<GraphHandle>(graph), handle<const NodeHandle*>(after.data()), after.size(), &params, *context);
    return given<Node>(api, "cuGraphAddMemcpyNode", status, made);
  };
}

void add_executables(DriverTable& table) {
  table.instantiate = [](const void* self, GraphObject graph) -> Result<Exec> {
    const Api& api = api_of(self);
    ExecHandle made = nullptr;
    const Status status = api.f.graph_instantiate(&made, handle<GraphHandle>(graph), 0);
    return given<Exec>(api, "cuGraphInstantiateWithFlags", status, made);
  };
  table.exec_destroy = [](const void* self, Exec exec) -> Result<> {
    const Api& api = api_of(self);
    return api.check("cuGraphExecDestroy", api.f.exec_destroy(handle<ExecHandle>(exec)));
  };
  table.exec_launch = [](const void* self, Exec exec, Stream stream) -> Result<> {
    const Api& api = api_of(self);
    return api.check("cuGraphLaunch", api.f.graph_launch(handle<ExecHandle>(exec), handle<StreamHandle>(stream)));
  };
  table.set_kernel = [](const void* self, Exec exec, Node node, const KernelCall& call) -> Result<> {
    const Api& api = api_of(self);
    const KernelNodeParams params = params_of(call);
    return api.check("cuGraphExecKernelNodeSetParams",
                     api.f.exec_set_kernel(handle<ExecHandle>(exec), handle<NodeHandle>(node), &params));
  };
  table.set_fill = [](const void* self, Exec exec, Node node, const FillCall& call) -> Result<> {
    const Api& api = api_of(self);
    const MemsetNodeParams params = params_of(call);
    Result<ContextHandle> context = current_context(api);
    if (!context) return context.error();
    return api.check("cuGraphExecMemsetNodeSetParams",
                     api.f.exec_set_memset(handle<ExecHandle>(exec), handle<NodeHandle>(node), &params, *context));
  };
  table.set_copy = [](const void* self, Exec exec, Node node, const CopyCall& call) -> Result<> {
    const Api& api = api_of(self);
    const Memcpy3D params = params_of(call);
    Result<ContextHandle> context = current_context(api);
    if (!context) return context.error();
    return api.check("cuGraphExecMemcpyNodeSetParams",
                     api.f.exec_set_memcpy(handle<ExecHandle>(exec), handle<NodeHandle>(node), &params, *context));
  };
}

}  // namespace

Result<DriverTable> make_table(const Api& api, int ordinal) {
  DriverTable table;
  table.api = &api;
  Result<Retained> retained = retain(api, ordinal);
  if (!retained) return retained.error();
  table.context = retained->context;
  table.facts = std::move(retained->facts);
  table.release_context = release;
  table.code_rank = code_rank;
  table.quirks = quirks_of(api);
  add_context_and_memory(table);
  add_streams(table);
  add_events(table);
  add_modules(table);
  add_graphs(table);
  add_executables(table);
  if (api.f.graph_dot != nullptr) {
    table.graph_dot = [](const void* self, GraphObject graph, const std::string& path) -> Result<> {
      const Api& on = api_of(self);
      return on.check("cuGraphDebugDotPrint", on.f.graph_dot(handle<GraphHandle>(graph), path.c_str(), dot_verbose));
    };
  }
  return table;
}

}  // namespace pianola::cuda
