// SPDX-License-Identifier: Apache-2.0
// The software driver as libamdhip64.so.
#include <atomic>
#include <cstring>

#include "backend/hip/abi.hpp"
#include "face.hpp"

using namespace sim;  // NOLINT: every name below is the vendor's
namespace hip = pianola::hip;

const int sim::device_at_first = 0;

namespace {

int attribute(hip::DeviceAttribute which) {
  using A = hip::DeviceAttribute;
  switch (which) {
    case A::max_threads_per_block:
    case A::max_block_x:
    case A::max_block_y:
    case A::max_block_z: return 1024;
    case A::max_grid_x: return INT32_MAX;
    case A::max_grid_y:
    case A::max_grid_z: return 65536;
    case A::max_shared_per_block: return amd_shared;
  }
  return 0;
}

Status make_work(World& world, const hip::MemsetNodeParams& params, WorkRef* work) {
  if (params.height != 1) return world.complain("memset of several rows");
  if (params.pitch * params.height > world.room_at(params.destination)) return world.complain("pitch over the memory");
  return world.make_fill(params.destination, params.value, params.element_size, params.width, work);
}

Status make_work(World& world, const hip::KernelNodeParams& params, WorkRef* work) {
  return world.make_kernel(arguments_of(params), current, work);
}

/// What makes the work of a node with these parameters.
template <class Params>
auto from(const Params* params) {
  return [params](World& world, WorkRef* work) { return make_work(world, *params, work); };
}

/// A copy's. The kind must fit where the memory is. Pinned host memory passes for device memory.
auto from(void* to, const void* source, size_t size, int kind) {
  return [=](World& world, WorkRef* work) {
    const auto wanted = static_cast<hip::CopyKind>(kind);
    const bool from_host = wanted == hip::CopyKind::host_to_device || wanted == hip::CopyKind::host_to_host;
    const bool to_host = wanted == hip::CopyKind::device_to_host || wanted == hip::CopyKind::host_to_host;
    if ((from_host && world.memory_kind(source) == 2) || (to_host && world.memory_kind(to) == 2)) {
      return world.complain("kind of a copy does not fit its memory");
    }
    return world.make_copy(to, source, size, true, work);
  };
}

/// AMD's runtime takes no lock while it makes graphs and nodes, gives kernels their arguments, and launches.
class Alone {
 public:
  explicit Alone(const char* name) {
    if (inside_.fetch_add(1) == 0) return;
    World& world = World::instance();
    const std::lock_guard lock(world.mutex);
    world.complain(std::string(name) + " beside another thread's call that makes or launches");
  }
  ~Alone() { --inside_; }
  Alone(const Alone&) = delete;
  Alone& operator=(const Alone&) = delete;

 private:
  inline static std::atomic<int> inside_{0};
};

}  // namespace

extern "C" {

int hipInit(unsigned flags) {
  World::instance().amd = true;
  return init("hipInit", flags);
}
int hipDriverGetVersion(int* version) {
  return driver_version("hipDriverGetVersion", version, 60400000);
}
const char* hipGetErrorName(int status) {
  return status == abi::out_of_memory     ? "hipErrorOutOfMemory"
         : status == abi::illegal_address ? "hipErrorIllegalAddress"
                                          : "hipErrorSoftwareDriver";
}
const char* hipGetErrorString(int) {
  return "the software driver refused";
}
int hipGetDeviceCount(int* count) {
  return count_devices("hipGetDeviceCount", count);
}
int hipGetDeviceProperties(hip::DeviceProperties* properties, int) {
  return call("hipGetDeviceProperties", [&](World&, auto&) {
    std::strcpy(properties->bytes + hip::DeviceProperties::name_offset, "Software HIP driver");
    std::strcpy(properties->bytes + hip::DeviceProperties::arch_offset, "gfx90a:sramecc+:xnack-");
    return Status::ok;
  });
}
int hipDeviceGetAttribute(int* value, int which, int) {
  return call("hipDeviceGetAttribute", [&](World&, auto&) {
    *value = attribute(static_cast<hip::DeviceAttribute>(which));
    return Status::ok;
  });
}
int hipDeviceTotalMem(size_t* bytes, int) {
  return total_memory("hipDeviceTotalMem", bytes);
}
int hipGetDevice(int* device) {
  return call("hipGetDevice", [&](World&, auto&) {
    *device = current;
    return Status::ok;
  });
}
int hipSetDevice(int device) {
  return call("hipSetDevice", [&](World&, auto&) {
    if (device < 0 || device >= device_count) return Status::invalid_device;
    current = device;
    return Status::ok;
  });
}

int hipMalloc(void** pointer, size_t size) {
  return allocate("hipMalloc", pointer, size, false);
}
int hipFree(void* pointer) {
  return sim::free("hipFree", pointer, false);
}
int hipHostMalloc(void** pointer, size_t size, unsigned) {
  return allocate("hipHostMalloc", pointer, size, true);
}
int hipHostFree(void* pointer) {
  return sim::free("hipHostFree", pointer, true);
}
int hipMemGetAddressRange(void** begin, size_t* size, void* pointer) {
  return call("hipMemGetAddressRange", [&](World& world, auto&) {
    const World::Allocation* memory = world.allocation_of(pointer);
    if (memory == nullptr) return Status::invalid_value;
    *begin = reinterpret_cast<void*>(memory->begin);
    *size = memory->size;
    return usable(world);
  });
}
int hipPointerGetAttributes(hip::PointerAttributes* attributes, const void* pointer) {
  return call("hipPointerGetAttributes", [&](World& world, auto&) {
    const World::Allocation* memory = world.allocation_of(pointer);
    if (memory == nullptr) return Status::invalid_value;
    *attributes = {};
    attributes->device = memory->device;
    attributes->device_pointer = const_cast<void*>(pointer);
    attributes->host_pointer = memory->on_host ? attributes->device_pointer : nullptr;
    return usable(world);
  });
}
int hipMemcpyAsync(void* to, const void* from, size_t size, int, void* stream) {
  return copy("hipMemcpyAsync", to, from, size, stream);
}
int hipMemsetD8Async(void* to, unsigned char value, size_t count, void* stream) {
  return fill("hipMemsetD8Async", to, value, 1, count, stream);
}
int hipMemsetD16Async(void* to, unsigned short value, size_t count, void* stream) {
  return fill("hipMemsetD16Async", to, value, 2, count, stream);
}
int hipMemsetD32Async(void* to, int value, size_t count, void* stream) {
  return fill("hipMemsetD32Async", to, static_cast<uint32_t>(value), 4, count, stream);
}

int hipStreamCreateWithFlags(void** stream, unsigned) {
  return create_stream("hipStreamCreateWithFlags", stream);
}
int hipStreamDestroy(void* stream) {
  return release("hipStreamDestroy", stream);
}
int hipStreamSynchronize(void* stream) {
  return synchronize_stream("hipStreamSynchronize", stream);
}
int hipStreamWaitEvent(void* stream, void* event, unsigned) {
  return wait_for_event("hipStreamWaitEvent", stream, event);
}
int hipStreamAddCallback(void* stream, Callback callback, void* data, unsigned) {
  return add_callback("hipStreamAddCallback", stream, callback, data);
}
int hipEventCreateWithFlags(void** event, unsigned flags) {
  return create_event("hipEventCreateWithFlags", event, flags);
}
int hipEventDestroy(void* event) {
  return release("hipEventDestroy", event);
}
int hipEventRecord(void* event, void* stream) {
  return record_event("hipEventRecord", event, stream);
}
int hipEventQuery(void* event) {
  return query_event("hipEventQuery", event);
}
int hipEventSynchronize(void* event) {
  return synchronize_event("hipEventSynchronize", event);
}
int hipEventElapsedTime(float* milliseconds, void* first, void* second) {
  return elapsed("hipEventElapsedTime", milliseconds, first, second);
}

int hipModuleLoadData(void** module, const void* image) {
  return load_module("hipModuleLoadData", module, image);
}
int hipModuleUnload(void* module) {
  return release("hipModuleUnload", module);
}
int hipModuleGetFunction(void** function, void* module, const char* kernel) {
  return get_function("hipModuleGetFunction", function, module, kernel);
}
int hipModuleLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                          unsigned block_y, unsigned block_z, unsigned shared, void* stream, void** arguments, void**) {
  const Alone alone("hipModuleLaunchKernel");
  return launch("hipModuleLaunchKernel",
                {static_cast<const Function*>(function),
                 {grid_x, grid_y, grid_z},
                 {block_x, block_y, block_z},
                 shared,
                 arguments},
                stream);
}

int hipGraphCreate(void** graph, unsigned) {
  const Alone alone("hipGraphCreate");
  return create_graph("hipGraphCreate", graph);
}
int hipGraphDestroy(void* graph) {
  return release("hipGraphDestroy", graph);
}
int hipGraphAddKernelNode(void** node, void* graph, void* const* after, size_t count,
                          const hip::KernelNodeParams* params) {
  const Alone alone("hipGraphAddKernelNode");
  return add_node("hipGraphAddKernelNode", node, graph, after, count, from(params));
}
int hipGraphAddMemsetNode(void** node, void* graph, void* const* after, size_t count,
                          const hip::MemsetNodeParams* params) {
  const Alone alone("hipGraphAddMemsetNode");
  return add_node("hipGraphAddMemsetNode", node, graph, after, count, from(params));
}
int hipGraphAddMemcpyNode1D(void** node, void* graph, void* const* after, size_t count, void* to, const void* source,
                            size_t size, int kind) {
  const Alone alone("hipGraphAddMemcpyNode1D");
  return add_node("hipGraphAddMemcpyNode1D", node, graph, after, count, from(to, source, size, kind));
}
int hipGraphInstantiateWithFlags(void** exec, void* graph, unsigned long long) {
  return instantiate("hipGraphInstantiateWithFlags", exec, graph);
}
int hipGraphExecDestroy(void* exec) {
  return release("hipGraphExecDestroy", exec);
}
int hipGraphLaunch(void* exec, void* stream) {
  const Alone alone("hipGraphLaunch");
  return launch_graph("hipGraphLaunch", exec, stream);
}
int hipGraphExecKernelNodeSetParams(void* exec, void* node, const hip::KernelNodeParams* params) {
  const Alone alone("hipGraphExecKernelNodeSetParams");
  return set_node("hipGraphExecKernelNodeSetParams", exec, node, from(params));
}
int hipGraphExecMemsetNodeSetParams(void* exec, void* node, const hip::MemsetNodeParams* params) {
  return set_node("hipGraphExecMemsetNodeSetParams", exec, node, from(params));
}
int hipGraphExecMemcpyNodeSetParams1D(void* exec, void* node, void* to, const void* source, size_t size, int kind) {
  return set_node("hipGraphExecMemcpyNodeSetParams1D", exec, node, from(to, source, size, kind));
}
int hipGraphDebugDotPrint(void* graph, const char* path, unsigned) {
  return print_graph("hipGraphDebugDotPrint", graph, path);
}

}  // extern "C"
