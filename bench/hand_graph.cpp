// SPDX-License-Identifier: Apache-2.0
#include "hand_graph.hpp"

#include <dlfcn.h>

#include <algorithm>
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

constexpr size_t pinned_size = size_t{4} << 20;

/// A kernel node's arguments, in one place since the driver takes pointers to them.
struct Arguments {
  unsigned long long data;
  unsigned number;
  void* pointers[2] = {&data, &number};
};

}  // namespace

HandDriver* HandDriver::get(std::span<const Code> codes, void* memory) {
  static HandDriver driver;
  static const bool is_open = library() != nullptr && driver.open(codes);
  driver.memory_ = reinterpret_cast<unsigned long long>(memory);
  return is_open ? &driver : nullptr;
}

bool HandDriver::load(Code ptx) {
  const std::string text(reinterpret_cast<const char*>(ptx.data()), ptx.size());
  void* module = nullptr;
  return call("cuModuleLoadData", &module, static_cast<const void*>(text.c_str())) &&
         call("cuModuleGetFunction", &small_, module, "small") && call("cuModuleGetFunction", &busy_, module, "busy");
}

bool HandDriver::open(std::span<const Code> codes) {
  return call("cuInit", 0U) && call("cuDevicePrimaryCtxRetain", &context_, 0) && call("cuCtxSetCurrent", context_) &&
         call("cuStreamCreate", &stream_, 1U) && call("cuMemHostAlloc", &pinned_, pinned_size, 0U) &&
         std::ranges::any_of(codes, [this](Code ptx) { return load(ptx); });
}

bool HandDriver::add(void* graph, const HandNode& node, std::span<void* const> after, void** made) {
  const auto* first = after.data();
  if (node.kind == HandNode::Kind::fill) {
    const MemsetParams params{memory_ + node.offset, 0, 7, 4, node.size / 4, 1};
    return call("cuGraphAddMemsetNode", made, graph, first, after.size(), &params, context_);
  }
  if (node.kind == HandNode::Kind::copy || node.kind == HandNode::Kind::upload) {
    Copy3D params{};
    params.source_type = params.destination_type = 4;
    params.source = node.kind == HandNode::Kind::copy ? memory_ + node.source_offset
                                                      : reinterpret_cast<unsigned long long>(pinned_);
    params.destination = memory_ + node.offset;
    params.width = node.size;
    params.height = params.depth = 1;
    return call("cuGraphAddMemcpyNode", made, graph, first, after.size(), &params, context_);
  }
  const bool is_busy = node.kind == HandNode::Kind::busy;
  Arguments arguments{memory_ + node.offset, is_busy ? node.rounds : 1};
  const KernelParams params{
      is_busy ? busy_ : small_, {node.groups, 1, 1}, {256, 1, 1}, 0, arguments.pointers, nullptr, nullptr, nullptr};
  return call("cuGraphAddKernelNode_v2", made, graph, first, after.size(), &params);
}

HandDriver::Graph::~Graph() {
  if (exec != nullptr) call("cuGraphExecDestroy", exec);
  if (graph != nullptr) call("cuGraphDestroy", graph);
}

std::unique_ptr<HandDriver::Graph> HandDriver::build(std::span<const HandNode> nodes) {
  auto result = std::make_unique<Graph>();
  if (!call("cuCtxSetCurrent", context_) || !call("cuGraphCreate", &result->graph, 0U)) return nullptr;
  result->nodes.resize(nodes.size());
  std::vector<void*> after;
  for (size_t i = 0; i < nodes.size(); ++i) {
    after.clear();
    for (const uint32_t dependency : nodes[i].after) after.push_back(result->nodes[dependency]);
    if (!add(result->graph, nodes[i], after, &result->nodes[i])) return nullptr;
  }
  if (!call("cuGraphInstantiateWithFlags", &result->exec, result->graph, 0ULL)) return nullptr;
  return result;
}

bool HandDriver::update(const Graph& graph, std::span<const HandNode> nodes, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    Arguments arguments{memory_ + nodes[i].offset, 1};
    const KernelParams params{small_, {1, 1, 1}, {256, 1, 1}, 0, arguments.pointers, nullptr, nullptr, nullptr};
    if (!call("cuGraphExecKernelNodeSetParams_v2", graph.exec, graph.nodes[i], &params)) return false;
  }
  return true;
}

bool HandDriver::launch(const Graph& graph) {
  return call("cuGraphLaunch", graph.exec, stream_);
}

bool HandDriver::hand_over(const Graph& graph, uint32_t count) {
  constexpr unsigned non_blocking = 1, no_timing = 2;
  if (second_stream_ == nullptr) {
    if (!call("cuStreamCreate", &second_stream_, non_blocking)) return false;
    for (void*& event : events_) {
      if (!call("cuEventCreate", &event, no_timing)) return false;
    }
  }
  void* const streams[] = {stream_, second_stream_};
  for (uint32_t i = 0; i < count; ++i) {
    if (i != 0 && !call("cuStreamWaitEvent", streams[i % 2], events_[(i - 1) % 2], 0U)) return false;
    if (!call("cuGraphLaunch", graph.exec, streams[i % 2])) return false;
    if (!call("cuEventRecord", events_[i % 2], streams[i % 2])) return false;
  }
  return call("cuEventSynchronize", events_[(count - 1) % 2]);
}

bool HandDriver::wait() {
  return call("cuStreamSynchronize", stream_);
}

bool HandDriver::stream_and_wait(std::span<const HandNode> nodes) {
  if (!call("cuCtxSetCurrent", context_)) return false;
  for (const HandNode& node : nodes) {
    Arguments arguments{memory_ + node.offset, 1};
    const bool good = call("cuLaunchKernel", small_, node.groups, 1U, 1U, 256U, 1U, 1U, 0U, stream_,
                           static_cast<void**>(arguments.pointers), static_cast<void**>(nullptr));
    if (!good) return false;
  }
  return wait();
}

}  // namespace bench
