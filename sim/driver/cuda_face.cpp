// SPDX-License-Identifier: Apache-2.0
// The software driver as libcuda.so.1.
#include <cstring>

#include "backend/cuda/abi.hpp"
#include "face.hpp"

using namespace sim;  // NOLINT: every name below is the vendor's
namespace cuda = pianola::cuda;

const int sim::device_at_first = -1;

namespace {

/// A context's handle is the address of its entry here.
char contexts[device_count];

int attribute(cuda::DeviceAttribute which) {
  using A = cuda::DeviceAttribute;
  switch (which) {
    case A::max_threads_per_block:
    case A::max_block_x:
    case A::max_block_y: return 1024;
    case A::max_block_z: return 64;
    case A::max_grid_x: return INT32_MAX;
    case A::max_grid_y:
    case A::max_grid_z: return 65535;
    case A::max_shared_per_block: return default_shared;
    case A::max_shared_per_block_optin: return most_shared;
    case A::capability_major: return 9;
    case A::capability_minor: return 0;
  }
  return 0;
}

template <class T>
void put(void* value, T number) {
  std::memcpy(value, &number, sizeof number);
}

void put(World& world, cuda::PointerAttribute which, const void* pointer, void* value) {
  const World::Allocation* memory = world.allocation_of(pointer);
  using A = cuda::PointerAttribute;
  switch (which) {
    case A::memory_type: return put(value, memory == nullptr ? 0U : memory->on_host ? 1U : 2U);
    case A::is_managed: return put(value, 0U);
    case A::device_ordinal: return put(value, memory == nullptr ? -2 : memory->device);
    case A::range_start: return put(value, memory == nullptr ? uintptr_t{0} : memory->begin);
    case A::range_size: return put(value, memory == nullptr ? size_t{0} : size_t{memory->size});
  }
}

Status make_work(World& world, const cuda::MemsetNodeParams& params, WorkRef* work) {
  if (params.height != 1) return world.complain("memset of several rows");
  return world.make_fill(params.destination, params.value, params.element_size, params.width, work);
}

Status make_work(World& world, const cuda::Memcpy3D& params, WorkRef* work) {
  if (params.height != 1 || params.depth != 1) return world.complain("copy of several rows");
  if (params.source_type != cuda::memory_unified || params.destination_type != cuda::memory_unified) {
    return world.complain("copy of another memory type", Status::not_supported);
  }
  return world.make_copy(params.destination_device, params.source_device, params.width, true, work);
}

Status make_work(World& world, const cuda::KernelNodeParams& params, WorkRef* work) {
  return world.make_kernel(arguments_of(params), current, work);
}

/// What makes the work of a node with these parameters.
auto from(const cuda::KernelNodeParams* params) {
  return [params](World& world, WorkRef* work) { return make_work(world, *params, work); };
}

/// A transfer's. Its context must be that of its graph's device, which is current.
template <class Params>
auto from(const Params* params, const void* context) {
  return [=](World& world, WorkRef* work) {
    if (context != &contexts[current]) {
      return world.complain("node without the context of its graph's device", Status::invalid_context);
    }
    return make_work(world, *params, work);
  };
}

}  // namespace

extern "C" {

int cuInit(unsigned flags) {
  return init("cuInit", flags);
}
int cuDriverGetVersion(int* version) {
  return driver_version("cuDriverGetVersion", version, 12040);
}
int cuGetErrorName(int status, const char** text) {
  *text = status == abi::out_of_memory     ? "CUDA_ERROR_OUT_OF_MEMORY"
          : status == abi::illegal_address ? "CUDA_ERROR_ILLEGAL_ADDRESS"
                                           : "CUDA_ERROR_SOFTWARE_DRIVER";
  return 0;
}
int cuGetErrorString(int, const char** text) {
  *text = "the software driver refused";
  return 0;
}
int cuDeviceGetCount(int* count) {
  return count_devices("cuDeviceGetCount", count);
}
int cuDeviceGet(int* device, int ordinal) {
  return call("cuDeviceGet", [&](World&, auto&) {
    *device = ordinal;
    return ordinal >= 0 && ordinal < device_count ? Status::ok : Status::invalid_device;
  });
}
int cuDeviceGetName(char* name, int size, int) {
  return call("cuDeviceGetName", [&](World&, auto&) {
    std::strncpy(name, "Software CUDA driver", static_cast<size_t>(size) - 1);
    return Status::ok;
  });
}
int cuDeviceGetAttribute(int* value, int which, int) {
  return call("cuDeviceGetAttribute", [&](World&, auto&) {
    *value = attribute(static_cast<cuda::DeviceAttribute>(which));
    return Status::ok;
  });
}
int cuDeviceTotalMem_v2(size_t* bytes, int) {
  return total_memory("cuDeviceTotalMem", bytes);
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
  return call("cuDevicePrimaryCtxRetain", [&](World& world, auto&) {
    ++world.contexts[device];
    *context = &contexts[device];
    return Status::ok;
  });
}
int cuDevicePrimaryCtxRelease_v2(int device) {
  return release_call("cuDevicePrimaryCtxRelease", [&](World& world, auto&) {
    return --world.contexts[device] >= 0 ? Status::ok : world.complain("context released too often");
  });
}
int cuCtxGetCurrent(void** context) {
  const int status = call("cuCtxGetCurrent", [&](World&, auto&) {
    *context = current < 0 ? nullptr : &contexts[current];
    return Status::ok;
  });
  context_call_failed = status != abi::success;
  return status;
}
int cuCtxSetCurrent(void* context) {
  const int status = call("cuCtxSetCurrent", [&](World&, auto&) {
    current = context == nullptr ? -1 : static_cast<int>(static_cast<char*>(context) - contexts);
    return Status::ok;
  });
  context_call_failed = status != abi::success;
  return status;
}

int cuMemAlloc_v2(void** pointer, size_t size) {
  return allocate("cuMemAlloc", pointer, size, false);
}
int cuMemFree_v2(void* pointer) {
  return sim::free("cuMemFree", pointer, false);
}
int cuMemHostAlloc(void** pointer, size_t size, unsigned) {
  return allocate("cuMemHostAlloc", pointer, size, true);
}
int cuMemFreeHost(void* pointer) {
  return sim::free("cuMemFreeHost", pointer, true);
}
int cuPointerGetAttributes(unsigned count, const cuda::PointerAttribute* which, void** values, void* pointer) {
  return call("cuPointerGetAttributes", [&](World& world, auto&) {
    const Status status = usable(world);
    for (unsigned i = 0; status == Status::ok && i < count; ++i) put(world, which[i], pointer, values[i]);
    return status;
  });
}
int cuMemcpyAsync(void* to, const void* from, size_t size, void* stream) {
  return copy("cuMemcpyAsync", to, from, size, stream);
}
int cuMemsetD8Async(void* to, unsigned char value, size_t count, void* stream) {
  return fill("cuMemsetD8Async", to, value, 1, count, stream);
}
int cuMemsetD16Async(void* to, unsigned short value, size_t count, void* stream) {
  return fill("cuMemsetD16Async", to, value, 2, count, stream);
}
int cuMemsetD32Async(void* to, unsigned value, size_t count, void* stream) {
  return fill("cuMemsetD32Async", to, value, 4, count, stream);
}

int cuStreamCreate(void** stream, unsigned) {
  return create_stream("cuStreamCreate", stream);
}
int cuStreamDestroy_v2(void* stream) {
  return release("cuStreamDestroy", stream);
}
int cuStreamSynchronize(void* stream) {
  return synchronize_stream("cuStreamSynchronize", stream);
}
int cuStreamWaitEvent(void* stream, void* event, unsigned) {
  return wait_for_event("cuStreamWaitEvent", stream, event);
}
int cuStreamAddCallback(void* stream, Callback callback, void* data, unsigned) {
  return add_callback("cuStreamAddCallback", stream, callback, data);
}
int cuEventCreate(void** event, unsigned flags) {
  return create_event("cuEventCreate", event, flags);
}
int cuEventDestroy_v2(void* event) {
  return release("cuEventDestroy", event);
}
int cuEventRecord(void* event, void* stream) {
  return record_event("cuEventRecord", event, stream);
}
int cuEventQuery(void* event) {
  return query_event("cuEventQuery", event);
}
int cuEventSynchronize(void* event) {
  return synchronize_event("cuEventSynchronize", event);
}
int cuEventElapsedTime(float* milliseconds, void* first, void* second) {
  return elapsed("cuEventElapsedTime", milliseconds, first, second);
}

int cuModuleLoadData(void** module, const void* image) {
  return load_module("cuModuleLoadData", module, image);
}
int cuModuleUnload(void* module) {
  return release("cuModuleUnload", module);
}
int cuModuleGetFunction(void** function, void* module, const char* kernel) {
  return get_function("cuModuleGetFunction", function, module, kernel);
}
int cuFuncSetAttribute(void* function, cuda::FunctionAttribute attribute, int value) {
  return set_dynamic_shared("cuFuncSetAttribute", function,
                            attribute == cuda::FunctionAttribute::max_dynamic_shared ? value : -1);
}
int cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned shared, void* stream, void** arguments, void**) {
  return launch("cuLaunchKernel",
                {static_cast<const Function*>(function),
                 {grid_x, grid_y, grid_z},
                 {block_x, block_y, block_z},
                 shared,
                 arguments},
                stream);
}

int cuGraphCreate(void** graph, unsigned) {
  return create_graph("cuGraphCreate", graph);
}
int cuGraphDestroy(void* graph) {
  return release("cuGraphDestroy", graph);
}
int cuGraphAddKernelNode_v2(void** node, void* graph, void* const* after, size_t count,
                            const cuda::KernelNodeParams* params) {
  return add_node("cuGraphAddKernelNode", node, graph, after, count, from(params));
}
int cuGraphAddMemsetNode(void** node, void* graph, void* const* after, size_t count,
                         const cuda::MemsetNodeParams* params, void* context) {
  return add_node("cuGraphAddMemsetNode", node, graph, after, count, from(params, context));
}
int cuGraphAddMemcpyNode(void** node, void* graph, void* const* after, size_t count, const cuda::Memcpy3D* params,
                         void* context) {
  return add_node("cuGraphAddMemcpyNode", node, graph, after, count, from(params, context));
}
int cuGraphInstantiateWithFlags(void** exec, void* graph, unsigned long long) {
  return instantiate("cuGraphInstantiateWithFlags", exec, graph);
}
int cuGraphExecDestroy(void* exec) {
  return release("cuGraphExecDestroy", exec);
}
int cuGraphLaunch(void* exec, void* stream) {
  return launch_graph("cuGraphLaunch", exec, stream);
}
int cuGraphExecKernelNodeSetParams_v2(void* exec, void* node, const cuda::KernelNodeParams* params) {
  return set_node("cuGraphExecKernelNodeSetParams", exec, node, from(params));
}
int cuGraphExecMemsetNodeSetParams(void* exec, void* node, const cuda::MemsetNodeParams* params, void* context) {
  return set_node("cuGraphExecMemsetNodeSetParams", exec, node, from(params, context));
}
int cuGraphExecMemcpyNodeSetParams(void* exec, void* node, const cuda::Memcpy3D* params, void* context) {
  return set_node("cuGraphExecMemcpyNodeSetParams", exec, node, from(params, context));
}
int cuGraphDebugDotPrint(void* graph, const char* path, unsigned) {
  return print_graph("cuGraphDebugDotPrint", graph, path);
}

}  // extern "C"
