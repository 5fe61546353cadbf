// SPDX-License-Identifier: Apache-2.0
// AMD's HIP runtime: every function that is called, and what VendorApi wants to know. All but the optional one exist
// from 5.2 on.
#pragma once

#include <array>

#include "backend/driver_graph/vendor_api.hpp"
#include "backend/hip/abi.hpp"

namespace pianola::hip {

template <class Signature>
using Call = driver_graph::Call<Signature>;

struct Functions {
  explicit Functions(driver_graph::Symbols& symbols) : s(symbols) {}
  driver_graph::Symbols& s;  ///< for the lines below only

  Call<Status(unsigned flags)> init{s, "hipInit"};
  Call<Status(int* version)> driver_version{s, "hipDriverGetVersion"};
  Call<const char*(Status status)> error_name{s, "hipGetErrorName"};
  Call<const char*(Status status)> error_string{s, "hipGetErrorString"};
  Call<Status(int* count)> device_count{s, "hipGetDeviceCount"};
  Call<Status(DeviceProperties* properties, int device)> device_properties{s, "hipGetDeviceProperties"};
  Call<Status(int* value, DeviceAttribute attribute, int device)> device_attribute{s, "hipDeviceGetAttribute"};
  Call<Status(size_t* bytes, int device)> device_memory{s, "hipDeviceTotalMem"};
  Call<Status(int* device)> get_device{s, "hipGetDevice"};
  Call<Status(int device)> set_device{s, "hipSetDevice"};
  Call<Status(void** pointer, size_t size)> memory_allocate{s, "hipMalloc"};
  Call<Status(void* pointer)> memory_free{s, "hipFree"};
  Call<Status(void** pointer, size_t size, unsigned flags)> host_allocate{s, "hipHostMalloc"};
  Call<Status(void* pointer)> host_free{s, "hipHostFree"};
  Call<Status(void** begin, size_t* size, void* pointer)> address_range{s, "hipMemGetAddressRange"};
  Call<Status(PointerAttributes* attributes, const void* pointer)> pointer_attributes{s, "hipPointerGetAttributes"};
  Call<Status(void* to, const void* from, size_t size, CopyKind kind, Stream stream)> copy{s, "hipMemcpyAsync"};
  Call<Status(void* to, unsigned char value, size_t count, Stream stream)> set_d8{s, "hipMemsetD8Async"};
  Call<Status(void* to, unsigned short value, size_t count, Stream stream)> set_d16{s, "hipMemsetD16Async"};
  Call<Status(void* to, unsigned value, size_t count, Stream stream)> set_d32{s, "hipMemsetD32Async"};
  Call<Status(Stream* stream, unsigned flags)> stream_create{s, "hipStreamCreateWithFlags"};
  Call<Status(Stream stream)> stream_destroy{s, "hipStreamDestroy"};
  Call<Status(Stream stream)> stream_synchronize{s, "hipStreamSynchronize"};
  Call<Status(Stream stream, Event event, unsigned flags)> stream_wait_event{s, "hipStreamWaitEvent"};
  Call<Status(Stream stream, driver_graph::StreamCallback callback, void* data, unsigned flags)> stream_add_callback{
      s, "hipStreamAddCallback"};
  Call<Status(Event* event, unsigned flags)> event_create{s, "hipEventCreateWithFlags"};
  Call<Status(Event event)> event_destroy{s, "hipEventDestroy"};
  Call<Status(Event event, Stream stream)> event_record{s, "hipEventRecord"};
  Call<Status(Event event)> event_query{s, "hipEventQuery"};
  Call<Status(Event event)> event_synchronize{s, "hipEventSynchronize"};
  Call<Status(float* milliseconds, Event first, Event second)> event_elapsed{s, "hipEventElapsedTime"};
  Call<Status(Module* module, const void* image)> module_load{s, "hipModuleLoadData"};
  Call<Status(Module module)> module_unload{s, "hipModuleUnload"};
  Call<Status(Function* function, Module module, const char* name)> module_function{s, "hipModuleGetFunction"};
  Call<Status(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
              unsigned block_z, unsigned shared_bytes, Stream stream, void** arguments, void** extra)>
      launch{s, "hipModuleLaunchKernel"};
  Call<Status(GraphObject* graph, unsigned flags)> graph_create{s, "hipGraphCreate"};
  Call<Status(GraphObject graph)> graph_destroy{s, "hipGraphDestroy"};
  Call<Status(Node* node, GraphObject graph, const Node* after, size_t count, const KernelNodeParams* params)>
      graph_add_kernel{s, "hipGraphAddKernelNode"};
  Call<Status(Node* node, GraphObject graph, const Node* after, size_t count, const MemsetNodeParams* params)>
      graph_add_memset{s, "hipGraphAddMemsetNode"};
  Call<Status(Node* node, GraphObject graph, const Node* after, size_t count, void* to, const void* from, size_t size,
              CopyKind kind)>
      graph_add_copy{s, "hipGraphAddMemcpyNode1D"};
  Call<Status(Exec* exec, GraphObject graph, unsigned long long flags)> graph_instantiate{
      s, "hipGraphInstantiateWithFlags"};
  Call<Status(Exec exec, Stream stream)> graph_launch{s, "hipGraphLaunch"};
  Call<Status(Exec exec)> exec_destroy{s, "hipGraphExecDestroy"};
  Call<Status(Exec exec, Node node, const KernelNodeParams* params)> exec_set_kernel{s,
                                                                                     "hipGraphExecKernelNodeSetParams"};
  Call<Status(Exec exec, Node node, const MemsetNodeParams* params)> exec_set_memset{s,
                                                                                     "hipGraphExecMemsetNodeSetParams"};
  Call<Status(Exec exec, Node node, void* to, const void* from, size_t size, CopyKind kind)> exec_set_copy{
      s, "hipGraphExecMemcpyNodeSetParams1D"};
  Call<Status(GraphObject graph, const char* path, unsigned flags)> graph_dot{
      s, "hipGraphDebugDotPrint", Call<Status(GraphObject, const char*, unsigned)>::Need::optional};  // from 5.5
};

struct Vendor {
  using Functions = hip::Functions;
  using KernelNodeParams = hip::KernelNodeParams;
  using MemsetNodeParams = hip::MemsetNodeParams;
  /// Arguments lie in the function itself until a launch has copied them, and what adds or launches nodes takes no lock
  /// (ihipLaunchKernel_validate() in hip_module.cpp). Test: ApiThreads.* over AMD's own runtime.
  using LaunchMutex = std::mutex;
  static constexpr const char* name = "HIP runtime";
  /// The plain name comes last: it is for compiling, and on a machine with several versions nobody knows which it is.
  static constexpr std::array libraries = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                                           "libamdhip64.so"};
  static constexpr std::array marker_libraries = {"libroctx64.so.4", "librocprofiler-sdk-roctx.so.1"};
  static constexpr const char* marker_push = "roctxRangePushA";
  static constexpr const char* marker_pop = "roctxRangePop";
  static constexpr int oldest = 50200000;  // 10,000,000 * major + 100,000 * minor + patch
  static std::string version_text(int version) {
    return std::to_string(version / 10000000) + "." + std::to_string(version / 100000 % 100);
  }
  static std::pair<const char*, const char*> words(const Functions& f, Status status) {
    return {f.error_name(status), f.error_string(status)};
  }
  static Result<driver_graph::DriverTable> make_table(const driver_graph::VendorApi<Vendor>& api, int ordinal);
};
using Api = driver_graph::VendorApi<Vendor>;

}  // namespace pianola::hip
