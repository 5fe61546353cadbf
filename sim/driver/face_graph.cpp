// SPDX-License-Identifier: Apache-2.0
// Modules, launches and graphs of both faces.
#include <fstream>

#include "face.hpp"

namespace sim {

int load_module(const char* name, void** module, const void* image) {
  return call(name, [&](World& world, auto&) {
    Status status = usable(world);
    Module* made = nullptr;
    if (status == Status::ok) status = world.load_module(image, current, &made);
    *module = made;
    return status;
  });
}
int get_function(const char* name, void** function, void* handle, const char* kernel) {
  return call(name, [&](World& world, auto&) {
    Status status{};
    const auto module = get<Module>(world, handle, status);
    if (module == nullptr) return status;
    Function* made = nullptr;
    status = world.get_function(module.get(), kernel, &made);
    *function = made;
    return status;
  });
}
int set_dynamic_shared(const char* name, void* function, int bytes) {
  return call(name, [&](World& world, auto&) { return world.set_dynamic_shared(function, bytes); });
}
int launch(const char* name, const KernelArguments& arguments, void* handle) {
  return call(name, [&](World& world, auto&) {
    Status status{};
    const auto stream = get<Stream>(world, handle, status);
    if (stream == nullptr) return status;
    StreamOp op;
    status = world.make_kernel(arguments, current, &op.active.work);
    if (status == Status::ok) world.push(*stream, std::move(op));
    return status;
  });
}
int create_graph(const char* name, void** graph) {
  return call(name, [&](World& world, auto&) {
    const Status status = usable(world);
    if (status == Status::ok) *graph = world.add(std::make_shared<Graph>(current));
    return status;
  });
}
int instantiate(const char* name, void** exec, void* handle) {
  return call(name, [&](World& world, auto&) {
    Status status{};
    const auto graph = get<Graph>(world, handle, status);
    if (graph == nullptr) return status;
    Exec* made = nullptr;
    status = world.instantiate(*graph, &made);
    *exec = made;
    return status;
  });
}
int launch_graph(const char* name, void* exec_handle, void* handle) {
  return call(name, [&](World& world, auto&) {
    Status status{};
    const auto exec = get<Exec>(world, exec_handle, status);
    if (exec == nullptr) return status;
    const auto stream = get<Stream>(world, handle, status);
    return stream == nullptr ? status : world.launch(*stream, exec);
  });
}
int print_graph(const char* name, void* handle, const char* path) {
  return call(name, [&](World& world, auto&) {
    const auto graph = world.find<Graph>(handle);
    if (graph == nullptr) return world.complain("graph is not alive", Status::invalid_handle);
    std::ofstream file(path);
    file << "digraph {\n";
    for (const Node& node : graph->nodes) {
      file << "  " << node.index << " [label=\"" << describe(*node.work) << "\"];\n";
      for (const uint32_t dependency : node.dependencies) file << "  " << dependency << " -> " << node.index << ";\n";
    }
    file << "}\n";
    return Status::ok;
  });
}

}  // namespace sim
