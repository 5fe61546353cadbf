// SPDX-License-Identifier: Apache-2.0
#include "hand_graph.hpp"

#include <dlfcn.h>

#include <cstring>
#include <string>

namespace bench {
namespace {

struct KernelParams {
  void* function;
  unsigned grid[3], block[3], shared;
  void** arguments;
  void** extra;
  void* kernel;
  void* context;
};
struct MemsetParams {
  unsigned long long destination;
  size_t pitch;
  unsigned value, element;
  size_t width, height;
};
struct Copy3D {
  size_t source_position[4];
  unsigned source_type;
  const void* source_host;
  unsigned long long source;
  void* source_array;
  void* reserved0;
  size_t source_pitch[2];
  size_t destination_position[4];
  unsigned destination_type;
  void* destination_host;
  unsigned long long destination;
  void* destination_array;
  void* reserved1;
  size_t destination_pitch[2];
  size_t width, height, depth;
};

void* library() {
  static void* handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  return handle;
}

/// Calls a driver function by name; the arguments have the types that it declares.
template <class... Arguments>
bool call(const char* name, Arguments... arguments) {
  using Function = int (*)(Arguments...);
  void* found = dlsym(library(), name);
  return found != nullptr && reinterpret_cast<Function>(found)(arguments...) == 0;
}

}  // namespace

HandDriver* HandDriver::get(std::span<const std::byte> ptx, uint64_t memory) {
  static HandDriver driver;
  static const bool is_open = library() != nullptr && driver.open(ptx, memory);
  return is_open ? &driver : nullptr;
}

bool HandDriver::open(std::span<const std::byte> ptx, uint64_t memory) {
  const std::string text(reinterpret_cast<const char*>(ptx.data()), ptx.size());
  void* module = nullptr;
  return call("cuInit", 0U) && call("cuDevicePrimaryCtxRetain", &context_, 0) && call("cuCtxSetCurrent", context_) &&
         call("cuStreamCreate", &stream_, 1U) && call("cuMemAlloc_v2", &memory_, size_t{memory}) &&
         call("cuModuleLoadData", &module, static_cast<const void*>(text.c_str())) &&
         call("cuModuleGetFunction", &function_, module, "small");
}

bool HandDriver::add(void* graph, const HandNode& node, std::span<void* const> after, void** made) {
  const auto* first = after.data();
  if (node.kind == HandNode::Kind::fill) {
    const MemsetParams params{memory_ + node.offset, 0, 7, 4, node.size / 4, 1};
    return call("cuGraphAddMemsetNode", made, graph, first, after.size(), &params, context_);
  }
  if (node.kind == HandNode::Kind::copy) {
    Copy3D params{};
    params.source_type = params.destination_type = 4;
    params.source = memory_ + node.source_offset;
    params.destination = memory_ + node.offset;
    params.width = node.size;
    params.height = params.depth = 1;
    return call("cuGraphAddMemcpyNode", made, graph, first, after.size(), &params, context_);
  }
  unsigned long long data = memory_ + node.offset;
  unsigned value = 1;
  void* arguments[] = {&data, &value};
  const KernelParams params{function_, {1, 1, 1}, {256, 1, 1}, 0, arguments, nullptr, nullptr, nullptr};
  return call("cuGraphAddKernelNode_v2", made, graph, first, after.size(), &params);
}

HandDriver::Graph HandDriver::build(std::span<const HandNode> nodes) {
  void* graph = nullptr;
  void* exec = nullptr;
  if (!call("cuCtxSetCurrent", context_) || !call("cuGraphCreate", &graph, 0U)) return nullptr;
  std::vector<void*> made(nodes.size());
  std::vector<void*> after;
  bool good = true;
  for (size_t i = 0; good && i < nodes.size(); ++i) {
    after.clear();
    for (const uint32_t dependency : nodes[i].after) after.push_back(made[dependency]);
    good = add(graph, nodes[i], after, &made[i]);
  }
  good = good && call("cuGraphInstantiateWithFlags", &exec, graph, 0ULL);
  call("cuGraphDestroy", graph);
  return good ? exec : nullptr;
}

bool HandDriver::launch(Graph graph) {
  return call("cuGraphLaunch", graph, stream_);
}

bool HandDriver::wait() {
  return call("cuStreamSynchronize", stream_);
}

bool HandDriver::launch_and_wait(Graph graph) {
  return launch(graph) && wait();
}

void HandDriver::destroy(Graph graph) {
  call("cuGraphExecDestroy", graph);
}

bool HandDriver::stream_and_wait(std::span<const HandNode> nodes) {
  for (const HandNode& node : nodes) {
    unsigned long long data = memory_ + node.offset;
    unsigned value = 1;
    void* arguments[] = {&data, &value};
    const bool good = call("cuLaunchKernel", function_, 1U, 1U, 1U, 256U, 1U, 1U, 0U, stream_,
                           static_cast<void**>(arguments), static_cast<void**>(nullptr));
    if (!good) return false;
  }
  return wait();
}

}  // namespace bench
