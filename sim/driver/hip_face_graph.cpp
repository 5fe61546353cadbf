// SPDX-License-Identifier: Apache-2.0
// The software driver as libamdhip64.so: modules, launches and graphs.
#include <fstream>

#include "hip_face.hpp"

using namespace sim;       // NOLINT: every name below is the vendor's
using namespace sim::hip;  // NOLINT

namespace {

KernelArguments arguments_of(const abi::KernelNodeParams& params) {
  KernelArguments result;
  result.function = reinterpret_cast<const Function*>(params.function);
  std::copy(std::begin(params.grid), std::end(params.grid), result.grid);
  std::copy(std::begin(params.block), std::end(params.block), result.block);
  result.shared_bytes = params.shared_bytes;
  result.arguments = params.arguments;
  return result;
}

Status make_work(World& world, const abi::MemsetNodeParams& params, WorkRef* work) {
  if (params.height != 1) return world.complain("memset of several rows");
  if (params.pitch * params.height > world.room_at(params.destination)) return world.complain("pitch over the memory");
  return world.make_fill(params.destination, params.value, params.element_size, params.width, work);
}

/// The kind must fit where the memory is. Pinned host memory passes for device memory.
Status make_copy(World& world, void* to, const void* from, size_t size, int kind, WorkRef* work) {
  const auto wanted = static_cast<abi::CopyKind>(kind);
  const bool from_host = wanted == abi::CopyKind::host_to_device || wanted == abi::CopyKind::host_to_host;
  const bool to_host = wanted == abi::CopyKind::device_to_host || wanted == abi::CopyKind::host_to_host;
  if ((from_host && world.memory_kind(from) == 2) || (to_host && world.memory_kind(to) == 2)) {
    return world.complain("kind of a copy does not fit its memory");
  }
  return world.make_copy(to, from, size, true, work);
}

/// Adds the node that `make(world, &work)` describes.
template <class Make>
int add_node(const char* name, void** node, void* graph_handle, void* const* dependencies, size_t count, Make make) {
  return call(name, convert, [&](World& world, auto&) {
    Status status{};
    const auto graph = get<Graph>(world, graph_handle, current, status);
    WorkRef work;
    if (graph == nullptr) return status;
    status = make(world, &work);
    if (status != Status::ok) return status;
    const auto* first = reinterpret_cast<const Node* const*>(dependencies);
    Node* made = nullptr;
    status = world.add_node(graph.get(), {first, count}, std::move(work), &made);
    *node = made;
    return status;
  });
}

template <class Make>
int set_node(const char* name, void* exec_handle, void* node, Make make) {
  return call(name, convert, [&](World& world, auto&) {
    Status status{};
    const auto exec = get<Exec>(world, exec_handle, current, status);
    WorkRef work;
    if (exec == nullptr) return status;
    status = make(world, &work);
    return status == Status::ok ? world.set_node(*exec, static_cast<const Node*>(node), std::move(work)) : status;
  });
}

}  // namespace

extern "C" {

int hipModuleLoadData(void** module, const void* image) {
  return call("hipModuleLoadData", convert, [&](World& world, auto&) {
    Status status = usable(world);
    Module* made = nullptr;
    if (status == Status::ok) status = world.load_module(image, current, &made);
    *module = made;
    return status;
  });
}
int hipModuleUnload(void* module) {
  return release_call("hipModuleUnload", convert, [&](World& world, auto&) { return world.release(module); });
}
int hipModuleGetFunction(void** function, void* handle, const char* name) {
  return call("hipModuleGetFunction", convert, [&](World& world, auto&) {
    Status status{};
    const auto module = get<Module>(world, handle, current, status);
    if (module == nullptr) return status;
    Function* made = nullptr;
    status = world.get_function(module.get(), name, &made);
    *function = made;
    return status;
  });
}
int hipModuleLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                          unsigned block_y, unsigned block_z, unsigned shared, void* handle, void** arguments, void**) {
  return call("hipModuleLaunchKernel", convert, [&](World& world, auto&) {
    Status status{};
    const auto stream = get<Stream>(world, handle, current, status);
    if (stream == nullptr) return status;
    StreamOp op;
    status = world.make_kernel({static_cast<const Function*>(function),
                                {grid_x, grid_y, grid_z},
                                {block_x, block_y, block_z},
                                shared,
                                arguments},
                               current, &op.active.work);
    if (status == Status::ok) world.push(*stream, std::move(op));
    return status;
  });
}

int hipGraphCreate(void** graph, unsigned) {
  return call("hipGraphCreate", convert, [&](World& world, auto&) {
    const Status status = usable(world);
    if (status == Status::ok) *graph = world.add(std::make_shared<Graph>(current));
    return status;
  });
}
int hipGraphDestroy(void* graph) {
  return release_call("hipGraphDestroy", convert, [&](World& world, auto&) { return world.release(graph); });
}
int hipGraphAddKernelNode(void** node, void* graph, void* const* dependencies, size_t count,
                          const abi::KernelNodeParams* params) {
  return add_node("hipGraphAddKernelNode", node, graph, dependencies, count,
                  [&](World& world, WorkRef* work) { return world.make_kernel(arguments_of(*params), current, work); });
}
int hipGraphAddMemsetNode(void** node, void* graph, void* const* dependencies, size_t count,
                          const abi::MemsetNodeParams* params) {
  return add_node("hipGraphAddMemsetNode", node, graph, dependencies, count,
                  [&](World& world, WorkRef* work) { return make_work(world, *params, work); });
}
int hipGraphAddMemcpyNode1D(void** node, void* graph, void* const* dependencies, size_t count, void* to,
                            const void* from, size_t size, int kind) {
  return add_node("hipGraphAddMemcpyNode1D", node, graph, dependencies, count,
                  [&](World& world, WorkRef* work) { return make_copy(world, to, from, size, kind, work); });
}
int hipGraphInstantiateWithFlags(void** exec, void* handle, unsigned long long) {
  return call("hipGraphInstantiateWithFlags", convert, [&](World& world, auto&) {
    Status status{};
    const auto graph = get<Graph>(world, handle, current, status);
    if (graph == nullptr) return status;
    Exec* made = nullptr;
    status = world.instantiate(*graph, &made);
    *exec = made;
    return status;
  });
}
int hipGraphExecDestroy(void* exec) {
  return release_call("hipGraphExecDestroy", convert, [&](World& world, auto&) { return world.release(exec); });
}
int hipGraphLaunch(void* exec_handle, void* handle) {
  return call("hipGraphLaunch", convert, [&](World& world, auto&) {
    Status status{};
    const auto exec = get<Exec>(world, exec_handle, current, status);
    if (exec == nullptr) return status;
    const auto stream = get<Stream>(world, handle, current, status);
    return stream == nullptr ? status : world.launch(*stream, exec);
  });
}
int hipGraphExecKernelNodeSetParams(void* exec, void* node, const abi::KernelNodeParams* params) {
  return set_node("hipGraphExecKernelNodeSetParams", exec, node,
                  [&](World& world, WorkRef* work) { return world.make_kernel(arguments_of(*params), current, work); });
}
int hipGraphExecMemsetNodeSetParams(void* exec, void* node, const abi::MemsetNodeParams* params) {
  return set_node("hipGraphExecMemsetNodeSetParams", exec, node,
                  [&](World& world, WorkRef* work) { return make_work(world, *params, work); });
}
int hipGraphExecMemcpyNodeSetParams1D(void* exec, void* node, void* to, const void* from, size_t size, int kind) {
  return set_node("hipGraphExecMemcpyNodeSetParams1D", exec, node,
                  [&](World& world, WorkRef* work) { return make_copy(world, to, from, size, kind, work); });
}
int hipGraphDebugDotPrint(void* handle, const char* path, unsigned) {
  return call("hipGraphDebugDotPrint", convert, [&](World& world, auto&) {
    const auto graph = world.find<Graph>(handle);
    if (graph == nullptr) return world.complain("graph is not alive", Status::invalid_handle);
    std::ofstream file(path);
    file << "digraph {\n";
    for (const Node& node : graph->nodes) {
      file << "  " << node.index << ";\n";
      for (const uint32_t dependency : node.dependencies) file << "  " << dependency << " -> " << node.index << ";\n";
    }
    file << "}\n";
    return Status::ok;
  });
}

}  // extern "C"
