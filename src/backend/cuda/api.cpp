// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/api.hpp"

#include <map>
#include <memory>
#include <mutex>

#include "backend/driver_graph/symbols.hpp"

namespace pianola::cuda {
namespace {

constexpr int oldest_version = 12000;

using driver_graph::Symbols;

void find_device_functions(Symbols& symbols, Functions& f) {
  symbols.require("cuInit", f.init);
  symbols.require("cuDriverGetVersion", f.driver_version);
  symbols.require("cuGetErrorName", f.error_name);
  symbols.require("cuGetErrorString", f.error_string);
  symbols.require("cuDeviceGetCount", f.device_count);
  symbols.require("cuDeviceGet", f.device_get);
  symbols.require("cuDeviceGetName", f.device_name);
  symbols.require("cuDeviceGetAttribute", f.device_attribute);
  symbols.require("cuDeviceTotalMem_v2", f.device_memory);
  symbols.require("cuDevicePrimaryCtxRetain", f.context_retain);
  symbols.require("cuDevicePrimaryCtxRelease_v2", f.context_release);
  symbols.require("cuCtxGetCurrent", f.context_get_current);
  symbols.require("cuCtxSetCurrent", f.context_set_current);
  symbols.require("cuMemAlloc_v2", f.memory_allocate);
  symbols.require("cuMemFree_v2", f.memory_free);
  symbols.require("cuMemHostAlloc", f.host_allocate);
  symbols.require("cuMemFreeHost", f.host_free);
}

void find_stream_functions(Symbols& symbols, Functions& f) {
  symbols.require("cuMemcpyAsync", f.copy);
  symbols.require("cuMemsetD8Async", f.set_d8);
  symbols.require("cuMemsetD16Async", f.set_d16);
  symbols.require("cuMemsetD32Async", f.set_d32);
  symbols.require("cuStreamCreate", f.stream_create);
  symbols.require("cuStreamDestroy_v2", f.stream_destroy);
  symbols.require("cuStreamSynchronize", f.stream_synchronize);
  symbols.require("cuStreamWaitEvent", f.stream_wait_event);
  symbols.require("cuEventCreate", f.event_create);
  symbols.require("cuEventDestroy_v2", f.event_destroy);
  symbols.require("cuEventRecord", f.event_record);
  symbols.require("cuEventQuery", f.event_query);
  symbols.require("cuEventSynchronize", f.event_synchronize);
  symbols.require("cuEventElapsedTime", f.event_elapsed);
  symbols.require("cuModuleLoadData", f.module_load);
  symbols.require("cuModuleUnload", f.module_unload);
  symbols.require("cuModuleGetFunction", f.module_function);
  symbols.require("cuFuncGetAttribute", f.function_get);
  symbols.require("cuFuncSetAttribute", f.function_set);
  symbols.require("cuLaunchKernel", f.launch);
}

void find_graph_functions(Symbols& symbols, Functions& f) {
  symbols.require("cuGraphCreate", f.graph_create);
  symbols.require("cuGraphDestroy", f.graph_destroy);
  symbols.require("cuGraphAddKernelNode_v2", f.graph_add_kernel);
  symbols.require("cuGraphAddMemsetNode", f.graph_add_memset);
  symbols.require("cuGraphAddMemcpyNode", f.graph_add_memcpy);
  symbols.require("cuGraphInstantiateWithFlags", f.graph_instantiate);
  symbols.require("cuGraphLaunch", f.graph_launch);
  symbols.require("cuGraphExecDestroy", f.exec_destroy);
  symbols.require("cuGraphExecKernelNodeSetParams_v2", f.exec_set_kernel);
  symbols.require("cuGraphExecMemsetNodeSetParams", f.exec_set_memset);
  symbols.require("cuGraphExecMemcpyNodeSetParams", f.exec_set_memcpy);
  symbols.find("cuGraphUpload", f.graph_upload);
  symbols.find("cuGraphDebugDotPrint", f.graph_dot);
}

Result<std::unique_ptr<Api>> open(const std::string& path) {
  const std::string file = path.empty() ? "libcuda.so.1" : path;
  Result<DynamicLibrary> library = DynamicLibrary::open(file);
  if (!library) return library.error();
  auto api = std::make_unique<Api>();
  Symbols symbols(*library);
  find_device_functions(symbols, api->f);
  find_stream_functions(symbols, api->f);
  // The version comes first: an old driver lacks symbols because it is old.
  if (api->f.driver_version != nullptr && api->f.driver_version(&api->version) == success &&
      api->version < oldest_version) {
    return Error{Errc::no_device, "'" + file + "' is a driver for CUDA " + std::to_string(api->version / 1000) + "." +
                                      std::to_string(api->version % 1000 / 10) + "; 12.0 or later is needed"};
  }
  find_graph_functions(symbols, api->f);
  if (!symbols.missing().empty()) {
    return Error{Errc::no_device, "'" + file + "' is not a CUDA driver: it lacks " + symbols.missing()};
  }
  const Status status = api->f.init(0);
  if (status != success) {
    Error error = api->error("cuInit", status);
    error.code = Errc::no_device;
    return error;
  }
  return api;
}

Errc code_of(Status status) {
  switch (status) {
    case out_of_memory: return Errc::out_of_memory;
    case no_device:
    case invalid_device: return Errc::no_device;
    case invalid_image:
    case invalid_ptx: return Errc::corrupt;
    case no_binary_for_gpu:
    case not_found: return Errc::missing_kernel;
    case not_supported: return Errc::unsupported;
    default: break;
  }
  // From 700 on, the errors of work that ran, after which the context is lost (illegal address, launch failure, ...).
  // 701, 705 and 708 to 713 are about the call itself.
  const bool is_fault = status == illegal_address || (status >= 714 && status <= 721) || status == 702;
  return is_fault ? Errc::execution_failed : Errc::invalid_argument;
}

}  // namespace

Error Api::error(const char* call, Status status) const {
  const char* name = nullptr;
  const char* text = nullptr;
  (void)f.error_name(status, &name);
  (void)f.error_string(status, &text);
  Error error;
  error.code = code_of(status);
  error.message = std::string(call) + " failed with " + (name != nullptr ? name : "an unknown error") + " (" +
                  std::to_string(status) + "): " + (text != nullptr ? text : "no text");
  error.native_call = call;
  error.native_code = status;
  return error;
}

Result<const Api*> load(const std::string& path) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<Api>> loaded;
  const std::lock_guard lock(mutex);
  std::unique_ptr<Api>& api = loaded[path];
  if (api == nullptr) {
    Result<std::unique_ptr<Api>> opened = open(path);
    if (!opened) return opened.error();
    api = std::move(*opened);
  }
  return api.get();
}

}  // namespace pianola::cuda
