// SPDX-License-Identifier: Apache-2.0
// Graphs, executables, and the rules for what may go into them (each from the vendors' documentation or source).
#include <algorithm>
#include <cstring>

#include "world.hpp"

namespace sim {

Graph::~Graph() {
  for (const Node& node : nodes) World::instance().live_nodes.erase(&node);
}

Status World::make_kernel(const KernelArguments& call, int device, WorkRef* work) {
  const Function* function = call.function;
  if (live_functions.count(function) == 0) return complain("function is not alive", Status::invalid_handle);
  if (function->device != device) return complain("function of another device", Status::invalid_context);
  uint64_t threads = 1;
  for (int i = 0; i < 3; ++i) {
    if (call.grid[i] == 0 || call.block[i] == 0) return complain("grid or block dimension of 0");
    if (amd && uint64_t{call.grid[i]} * call.block[i] > UINT32_MAX) return complain("grid times block over 2^32 - 1");
    if (i > 0 && call.grid[i] > 65535) return complain("grid dimension over 65535");
    threads *= call.block[i];
  }
  if (function->kernel->function != nullptr && threads != function->kernel->workgroup_threads)
    return complain("workgroup is not the kernel's own");
  if (uint64_t{call.shared_bytes} + function->kernel->shared_bytes > (amd ? amd_shared : function->shared_limit))
    return complain("shared memory over the function's limit");
  if (function->kernel->function != nullptr && call.shared_bytes != function->kernel->dynamic_shared_bytes)
    return complain("dynamic shared memory is not what the kernel takes");
  if (call.arguments == nullptr && !function->kernel->arguments.empty()) return complain("kernel without arguments");
  auto made = std::make_shared<Work>();
  made->call.kernel = function->kernel;
  std::copy(std::begin(call.grid), std::end(call.grid), made->call.groups);
  made->call.constants.resize(made->call.kernel->constant_bytes);
  for (size_t i = 0; i < made->call.kernel->arguments.size(); ++i) {
    const pianola_sim_argument& argument = made->call.kernel->arguments[i];
    if (argument.is_buffer != 0) {
      void* pointer = nullptr;
      std::memcpy(&pointer, call.arguments[i], sizeof pointer);
      made->call.buffers.push_back(pointer);
    } else {
      std::memcpy(made->call.constants.data() + argument.offset, call.arguments[i], argument.size);
    }
  }
  *work = std::move(made);
  return Status::ok;
}

Status World::make_fill(void* destination, uint32_t value, uint32_t element, uint64_t count, WorkRef* work) {
  if (element != 1 && element != 2 && element != 4) return complain("memset element is not 1, 2 or 4 bytes");
  if (count == 0) return complain("memset of width 0");
  if (reinterpret_cast<uintptr_t>(destination) % element != 0) return complain("memset is not aligned to its element");
  if (!contains(destination, count * element)) return complain("memset outside its allocation");
  auto made = std::make_shared<Work>();
  made->kind = Work::Kind::fill;
  made->destination = static_cast<std::byte*>(destination);
  made->value = value;
  made->element = element;
  made->size = count * element;
  *work = std::move(made);
  return Status::ok;
}

Status World::make_copy(void* destination, const void* source, uint64_t size, bool in_graph, WorkRef* work) {
  if (size == 0) return complain("copy of 0 bytes");
  for (const void* end : {static_cast<const void*>(destination), source}) {
    const uint64_t room = room_at(end);
    if (room == 0 ? in_graph : size > room) {
      return complain(room == 0 ? "graph copy with host memory that is not pinned" : "copy outside its allocation");
    }
  }
  auto made = std::make_shared<Work>();
  made->kind = Work::Kind::copy;
  made->destination = static_cast<std::byte*>(destination);
  made->source = static_cast<const std::byte*>(source);
  made->size = size;
  *work = std::move(made);
  return Status::ok;
}

Status World::add_node(Graph* graph, std::span<const Node* const> dependencies, WorkRef work, Node** node) {
  std::vector<uint32_t> found;
  Status status = Status::ok;
  for (const Node* dependency : dependencies) {
    if (live_nodes.count(dependency) == 0 || dependency->graph != graph) {
      status = complain("dependency of another graph");
      break;
    }
    found.push_back(dependency->index);
  }
  std::sort(found.begin(), found.end());
  if (std::adjacent_find(found.begin(), found.end()) != found.end()) status = complain("duplicate dependency");
  // AMD's runtime adds the node before it looks at the dependencies.
  if (status != Status::ok && !amd) return status;
  graph->nodes.push_back({graph, static_cast<uint32_t>(graph->nodes.size()), std::move(work), {}});
  live_nodes.insert(&graph->nodes.back());
  if (status != Status::ok) return status;
  graph->nodes.back().dependencies = std::move(found);
  *node = &graph->nodes.back();
  return Status::ok;
}

Status World::instantiate(const Graph& graph, Exec** exec) {
  auto made = std::make_shared<Exec>(graph.device);
  made->children.resize(graph.nodes.size());
  for (const Node& node : graph.nodes) {
    made->works.push_back(node.work);
    made->dependency_count.push_back(static_cast<uint32_t>(node.dependencies.size()));
    made->node_index[&node] = node.index;
    for (const uint32_t dependency : node.dependencies) made->children[dependency].push_back(node.index);
  }
  *exec = add(std::move(made));
  return Status::ok;
}

bool World::is_launched(const Exec& exec) const {
  return std::any_of(streams.begin(), streams.end(), [&](const auto& stream) {
    return !lost[stream->device] && std::any_of(stream->ops.begin(), stream->ops.end(), [&](const StreamOp& op) {
      return op.run != nullptr && op.run->exec.get() == &exec;
    });
  });
}

Status World::set_node(Exec& exec, const Node* node, WorkRef work) {
  const auto at = exec.node_index.find(node);
  if (at == exec.node_index.end()) return complain("node is not of this executable's graph");
  if (amd && is_launched(exec)) return complain("update of an executable graph whose launch has not ended");
  WorkRef& old = exec.works[at->second];
  if (old->kind != work->kind) return complain("update changes the kind of a node");
  const bool moved = old->kind == Work::Kind::copy && (memory_kind(old->source) != memory_kind(work->source) ||
                                                       memory_kind(old->destination) != memory_kind(work->destination));
  if (moved) return Status::invalid_value;
  old = std::move(work);
  return Status::ok;
}

}  // namespace sim
