// SPDX-License-Identifier: Apache-2.0
// The software driver as libcuda.so.1: modules, launches and graphs.
#include <fstream>

#include "cuda_face.hpp"

using namespace sim;        // NOLINT: every name below is the vendor's
using namespace sim::cuda;  // NOLINT

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
  return world.make_fill(reinterpret_cast<void*>(params.destination), params.value, params.element_size, params.width,
                         work);
}

Status make_work(World& world, const abi::Memcpy3D& params, WorkRef* work) {
  if (params.height != 1 || params.depth != 1) return world.complain("copy of several rows");
  if (params.source_type != abi::memory_unified || params.destination_type != abi::memory_unified) {
    return world.complain("copy of another memory type", Status::not_supported);
  }
  return world.make_copy(reinterpret_cast<void*>(params.destination_device),
                         reinterpret_cast<const void*>(params.source_device), params.width, true, work);
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

int cuModuleLoadData(void** module, const void* image) {
  return call("cuModuleLoadData", convert, [&](World& world, auto&) {
    Status status = no_context(world);
    Module* made = nullptr;
    if (status == Status::ok) status = world.load_module(image, current, &made);
    *module = made;
    return status;
  });
}
int cuModuleUnload(void* module) {
  return release_call("cuModuleUnload", convert, [&](World& world, auto&) { return world.release(module); });
}
int cuModuleGetFunction(void** function, void* handle, const char* name) {
  return call("cuModuleGetFunction", convert, [&](World& world, auto&) {
    Status status{};
    const auto module = get<Module>(world, handle, current, status);
    if (module == nullptr) return status;
    Function* made = nullptr;
    status = world.get_function(module.get(), name, &made);
    *function = made;
    return status;
  });
}
int cuFuncGetAttribute(int* value, int which, void* handle) {
  return call("cuFuncGetAttribute", convert, [&](World& world, auto&) {
    if (world.live_functions.count(handle) == 0) return world.complain("function is not alive");
    const auto* function = static_cast<const Function*>(handle);
    using A = abi::FunctionAttribute;
    *value = static_cast<int>(static_cast<A>(which) == A::shared_bytes ? function->kernel->shared_bytes : 1024);
    return Status::ok;
  });
}
int cuFuncSetAttribute(void* handle, int which, int value) {
  return call("cuFuncSetAttribute", convert, [&](World& world, auto&) {
    if (world.live_functions.count(handle) == 0) return world.complain("function is not alive");
    if (static_cast<abi::FunctionAttribute>(which) != abi::FunctionAttribute::max_dynamic_shared_bytes) {
      return world.complain("attribute cannot be set");
    }
    if (value < 0 || value > static_cast<int>(most_shared)) return world.complain("shared memory over the limit");
    static_cast<Function*>(handle)->dynamic_shared_limit = static_cast<uint32_t>(value);
    return Status::ok;
  });
}
int cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned shared, void* handle, void** arguments, void**) {
  return call("cuLaunchKernel", convert, [&](World& world, auto&) {
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

int cuGraphCreate(void** graph, unsigned) {
  return call("cuGraphCreate", convert, [&](World& world, auto&) {
    const Status status = no_context(world);
    if (status == Status::ok) *graph = world.add(std::make_shared<Graph>(current));
    return status;
  });
}
int cuGraphDestroy(void* graph) {
  return release_call("cuGraphDestroy", convert, [&](World& world, auto&) { return world.release(graph); });
}
int cuGraphAddKernelNode_v2(void** node, void* graph, void* const* dependencies, size_t count,
                            const abi::KernelNodeParams* params) {
  return add_node("cuGraphAddKernelNode", node, graph, dependencies, count,
                  [&](World& world, WorkRef* work) { return world.make_kernel(arguments_of(*params), current, work); });
}
int cuGraphAddMemsetNode(void** node, void* graph, void* const* dependencies, size_t count,
                         const abi::MemsetNodeParams* params, void*) {
  return add_node("cuGraphAddMemsetNode", node, graph, dependencies, count,
                  [&](World& world, WorkRef* work) { return make_work(world, *params, work); });
}
int cuGraphAddMemcpyNode(void** node, void* graph, void* const* dependencies, size_t count, const abi::Memcpy3D* params,
                         void*) {
  return add_node("cuGraphAddMemcpyNode", node, graph, dependencies, count,
                  [&](World& world, WorkRef* work) { return make_work(world, *params, work); });
}
int cuGraphInstantiateWithFlags(void** exec, void* handle, unsigned long long) {
  return call("cuGraphInstantiateWithFlags", convert, [&](World& world, auto&) {
    Status status{};
    const auto graph = get<Graph>(world, handle, current, status);
    if (graph == nullptr) return status;
    Exec* made = nullptr;
    status = world.instantiate(*graph, &made);
    *exec = made;
    return status;
  });
}
int cuGraphExecDestroy(void* exec) {
  return release_call("cuGraphExecDestroy", convert, [&](World& world, auto&) { return world.release(exec); });
}
int cuGraphLaunch(void* exec_handle, void* handle) {
  return call("cuGraphLaunch", convert, [&](World& world, auto&) {
    Status status{};
    const auto exec = get<Exec>(world, exec_handle, current, status);
    if (exec == nullptr) return status;
    const auto stream = get<Stream>(world, handle, current, status);
    return stream == nullptr ? status : world.launch(*stream, exec);
  });
}
int cuGraphExecKernelNodeSetParams_v2(void* exec, void* node, const abi::KernelNodeParams* params) {
  return set_node("cuGraphExecKernelNodeSetParams", exec, node,
                  [&](World& world, WorkRef* work) { return world.make_kernel(arguments_of(*params), current, work); });
}
int cuGraphExecMemsetNodeSetParams(void* exec, void* node, const abi::MemsetNodeParams* params, void*) {
  return set_node("cuGraphExecMemsetNodeSetParams", exec, node,
                  [&](World& world, WorkRef* work) { return make_work(world, *params, work); });
}
int cuGraphExecMemcpyNodeSetParams(void* exec, void* node, const abi::Memcpy3D* params, void*) {
  return set_node("cuGraphExecMemcpyNodeSetParams", exec, node,
                  [&](World& world, WorkRef* work) { return make_work(world, *params, work); });
}
int cuGraphDebugDotPrint(void* handle, const char* path, unsigned) {
  return call("cuGraphDebugDotPrint", convert, [&](World& world, auto&) {
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
