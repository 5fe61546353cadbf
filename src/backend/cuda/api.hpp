// SPDX-License-Identifier: Apache-2.0
// The CUDA driver: every function that is called, and what VendorApi wants to know.
#pragma once

#include <array>

#include "backend/cuda/abi.hpp"
#include "backend/driver_graph/vendor_api.hpp"

namespace pianola::cuda {

template <class Signature>
using Call = driver_graph::Call<Signature>;

struct Functions {
  explicit Functions(driver_graph::Symbols& symbols) : s(symbols) {}
  driver_graph::Symbols& s;  ///< for the lines below only

  Call<Status(unsigned flags)> init{s, "cuInit"};
  Call<Status(int* version)> driver_version{s, "cuDriverGetVersion"};
  Call<Status(Status status, const char** text)> error_name{s, "cuGetErrorName"};
  Call<Status(Status status, const char** text)> error_string{s, "cuGetErrorString"};
  Call<Status(int* count)> device_count{s, "cuDeviceGetCount"};
  Call<Status(DeviceNumber* device, int ordinal)> device_get{s, "cuDeviceGet"};
  Call<Status(char* name, int size, DeviceNumber device)> device_name{s, "cuDeviceGetName"};
  Call<Status(int* value, DeviceAttribute attribute, DeviceNumber device)> device_attribute{s, "cuDeviceGetAttribute"};
  Call<Status(size_t* bytes, DeviceNumber device)> device_memory{s, "cuDeviceTotalMem_v2"};
  Call<Status(Context* context, DeviceNumber device)> context_retain{s, "cuDevicePrimaryCtxRetain"};
  Call<Status(DeviceNumber device)> context_release{s, "cuDevicePrimaryCtxRelease_v2"};
  Call<Status(Context* context)> context_get_current{s, "cuCtxGetCurrent"};
  Call<Status(Context context)> context_set_current{s, "cuCtxSetCurrent"};
  Call<Status(DevicePointer* pointer, size_t size)> memory_allocate{s, "cuMemAlloc_v2"};
  Call<Status(DevicePointer pointer)> memory_free{s, "cuMemFree_v2"};
  Call<Status(void** pointer, size_t size, unsigned flags)> host_allocate{s, "cuMemHostAlloc"};
  Call<Status(void* pointer)> host_free{s, "cuMemFreeHost"};
  Call<Status(unsigned count, const PointerAttribute* attributes, void** values, DevicePointer pointer)>
      pointer_attributes{s, "cuPointerGetAttributes"};
  Call<Status(DevicePointer to, const void* from, size_t size, Stream stream)> copy{s, "cuMemcpyAsync"};
  Call<Status(DevicePointer to, unsigned char value, size_t count, Stream stream)> set_d8{s, "cuMemsetD8Async"};
  Call<Status(DevicePointer to, unsigned short value, size_t count, Stream stream)> set_d16{s, "cuMemsetD16Async"};
  Call<Status(DevicePointer to, unsigned value, size_t count, Stream stream)> set_d32{s, "cuMemsetD32Async"};
  Call<Status(Stream* stream, unsigned flags)> stream_create{s, "cuStreamCreate"};
  Call<Status(Stream stream)> stream_destroy{s, "cuStreamDestroy_v2"};
  Call<Status(Stream stream)> stream_synchronize{s, "cuStreamSynchronize"};
  Call<Status(Stream stream, Event event, unsigned flags)> stream_wait_event{s, "cuStreamWaitEvent"};
  Call<Status(Stream stream, driver_graph::StreamCallback callback, void* data, unsigned flags)> stream_add_callback{
      s, "cuStreamAddCallback"};
  Call<Status(Event* event, unsigned flags)> event_create{s, "cuEventCreate"};
  Call<Status(Event event)> event_destroy{s, "cuEventDestroy_v2"};
  Call<Status(Event event, Stream stream)> event_record{s, "cuEventRecord"};
  Call<Status(Event event)> event_query{s, "cuEventQuery"};
  Call<Status(Event event)> event_synchronize{s, "cuEventSynchronize"};
  Call<Status(float* milliseconds, Event first, Event second)> event_elapsed{s, "cuEventElapsedTime"};
  Call<Status(Module* module, const void* image)> module_load{s, "cuModuleLoadData"};
  Call<Status(Module module)> module_unload{s, "cuModuleUnload"};
  Call<Status(Function* function, Module module, const char* name)> module_function{s, "cuModuleGetFunction"};
  Call<Status(Function function, FunctionAttribute attribute, int value)> function_set_attribute{s,
                                                                                                 "cuFuncSetAttribute"};
  Call<Status(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
              unsigned block_z, unsigned shared_bytes, Stream stream, void** arguments, void** extra)>
      launch{s, "cuLaunchKernel"};
  Call<Status(GraphObject* graph, unsigned flags)> graph_create{s, "cuGraphCreate"};
  Call<Status(GraphObject graph)> graph_destroy{s, "cuGraphDestroy"};
  Call<Status(Node* node, GraphObject graph, const Node* after, size_t count, const KernelNodeParams* params)>
      graph_add_kernel{s, "cuGraphAddKernelNode_v2"};
  Call<Status(Node* node, GraphObject graph, const Node* after, size_t count, const MemsetNodeParams* params,
              Context context)>
      graph_add_memset{s, "cuGraphAddMemsetNode"};
  Call<Status(Node* node, GraphObject graph, const Node* after, size_t count, const Memcpy3D* params, Context context)>
      graph_add_memcpy{s, "cuGraphAddMemcpyNode"};
  Call<Status(Exec* exec, GraphObject graph, unsigned long long flags)> graph_instantiate{
      s, "cuGraphInstantiateWithFlags"};
  Call<Status(Exec exec, Stream stream)> graph_launch{s, "cuGraphLaunch"};
  Call<Status(Exec exec)> exec_destroy{s, "cuGraphExecDestroy"};
  Call<Status(Exec exec, Node node, const KernelNodeParams* params)> exec_set_kernel{
      s, "cuGraphExecKernelNodeSetParams_v2"};
  Call<Status(Exec exec, Node node, const MemsetNodeParams* params, Context context)> exec_set_memset{
      s, "cuGraphExecMemsetNodeSetParams"};
  Call<Status(Exec exec, Node node, const Memcpy3D* params, Context context)> exec_set_memcpy{
      s, "cuGraphExecMemcpyNodeSetParams"};
  Call<Status(GraphObject graph, const char* path, unsigned flags)> graph_dot{
      s, "cuGraphDebugDotPrint", Call<Status(GraphObject, const char*, unsigned)>::Need::optional};
};

struct Vendor {
  using Functions = cuda::Functions;
  using KernelNodeParams = cuda::KernelNodeParams;
  using MemsetNodeParams = cuda::MemsetNodeParams;
  using LaunchMutex = driver_graph::NoMutex;
  static constexpr const char* name = "CUDA driver";
  static constexpr std::array libraries = {"libcuda.so.1"};
  static constexpr std::array marker_libraries = {"libnvToolsExt.so.1"};
  static constexpr const char* marker_push = "nvtxRangePushA";
  static constexpr const char* marker_pop = "nvtxRangePop";
  static constexpr int oldest = 12000;  // 1000 * major + 10 * minor
  static std::string version_text(int version) {
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
  }
  static std::pair<const char*, const char*> words(const Functions& f, Status status) {
    std::pair<const char*, const char*> found;
    (void)f.error_name(status, &found.first);
    (void)f.error_string(status, &found.second);
    return found;
  }
  static Result<driver_graph::DriverTable> make_table(const driver_graph::VendorApi<Vendor>& api, int ordinal);
};
using Api = driver_graph::VendorApi<Vendor>;

}  // namespace pianola::cuda
