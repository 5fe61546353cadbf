// SPDX-License-Identifier: Apache-2.0
#include "backend/hip/api.hpp"

#include <array>
#include <map>
#include <memory>
#include <mutex>

#include "backend/driver_graph/symbols.hpp"

namespace pianola::hip {
namespace {

constexpr int oldest_version = 50200000;

using driver_graph::Symbols;

void find_device_functions(Symbols& symbols, Functions& f) {
  symbols.require("hipInit", f.init);
  symbols.require("hipDriverGetVersion", f.driver_version);
  symbols.require("hipGetErrorName", f.error_name);
  symbols.require("hipGetErrorString", f.error_string);
  symbols.require("hipGetDeviceCount", f.device_count);
  symbols.require("hipGetDeviceProperties", f.device_properties);
  symbols.require("hipDeviceGetAttribute", f.device_attribute);
  symbols.require("hipDeviceTotalMem", f.device_memory);
  symbols.require("hipGetDevice", f.get_device);
  symbols.require("hipSetDevice", f.set_device);
  symbols.require("hipMalloc", f.memory_allocate);
  symbols.require("hipFree", f.memory_free);
  symbols.require("hipHostMalloc", f.host_allocate);
  symbols.require("hipHostFree", f.host_free);
}

void find_stream_functions(Symbols& symbols, Functions& f) {
  symbols.require("hipMemcpyAsync", f.copy);
  symbols.require("hipMemsetD8Async", f.set_d8);
  symbols.require("hipMemsetD16Async", f.set_d16);
  symbols.require("hipMemsetD32Async", f.set_d32);
  symbols.require("hipStreamCreateWithFlags", f.stream_create);
  symbols.require("hipStreamDestroy", f.stream_destroy);
  symbols.require("hipStreamSynchronize", f.stream_synchronize);
  symbols.require("hipStreamWaitEvent", f.stream_wait_event);
  symbols.require("hipEventCreateWithFlags", f.event_create);
  symbols.require("hipEventDestroy", f.event_destroy);
  symbols.require("hipEventRecord", f.event_record);
  symbols.require("hipEventQuery", f.event_query);
  symbols.require("hipEventSynchronize", f.event_synchronize);
  symbols.require("hipEventElapsedTime", f.event_elapsed);
  symbols.require("hipModuleLoadData", f.module_load);
  symbols.require("hipModuleUnload", f.module_unload);
  symbols.require("hipModuleGetFunction", f.module_function);
  symbols.require("hipModuleLaunchKernel", f.launch);
}

void find_graph_functions(Symbols& symbols, Functions& f) {
  symbols.require("hipGraphCreate", f.graph_create);
  symbols.require("hipGraphDestroy", f.graph_destroy);
  symbols.require("hipGraphAddKernelNode", f.graph_add_kernel);
  symbols.require("hipGraphAddMemsetNode", f.graph_add_memset);
  symbols.require("hipGraphAddMemcpyNode1D", f.graph_add_copy);
  symbols.require("hipGraphInstantiateWithFlags", f.graph_instantiate);
  symbols.require("hipGraphLaunch", f.graph_launch);
  symbols.require("hipGraphExecDestroy", f.exec_destroy);
  symbols.require("hipGraphExecKernelNodeSetParams", f.exec_set_kernel);
  symbols.require("hipGraphExecMemsetNodeSetParams", f.exec_set_memset);
  symbols.require("hipGraphExecMemcpyNodeSetParams1D", f.exec_set_copy);
  symbols.find("hipGraphDebugDotPrint", f.graph_dot);
}

/// The library of that path, or the newest on the search path. The plain name comes last: it is for compiling, and
/// on a machine with several versions nobody knows which one it is.
Result<DynamicLibrary> open_library(const std::string& path, std::string& file) {
  constexpr std::array names = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"};
  if (!path.empty()) {
    file = path;
    return DynamicLibrary::open(path);
  }
  for (const char* name : names) {
    Result<DynamicLibrary> library = DynamicLibrary::open(name);
    file = name;
    if (library) return library;
  }
  return Error{Errc::no_device, "no HIP runtime (libamdhip64.so) on the library search path", {}, {}, 0};
}

Result<std::unique_ptr<Api>> open(const std::string& path) {
  std::string file;
  Result<DynamicLibrary> library = open_library(path, file);
  if (!library) return library.error();
  auto api = std::make_unique<Api>();
  Symbols symbols(*library);
  find_device_functions(symbols, api->f);
  find_stream_functions(symbols, api->f);
  find_graph_functions(symbols, api->f);
  if (!symbols.missing().empty()) {
    return Error{Errc::no_device,
                 "'" + file + "' is not a HIP runtime of 5.2 or later: it lacks " + symbols.missing(),
                 {},
                 {},
                 0};
  }
  // Without a GPU the runtime answers its first call with one of several numbers.
  const Status status = api->f.init(0);
  if (status != success) {
    Error error = api->error("hipInit", status);
    error.code = Errc::no_device;
    return error;
  }
  if (api->f.driver_version(&api->version) == success && api->version < oldest_version) {
    return Error{Errc::no_device,
                 "'" + file + "' is HIP " + std::to_string(api->version / 10000000) + "." +
                     std::to_string(api->version / 100000 % 100) + "; 5.2 or later is needed",
                 {},
                 {},
                 0};
  }
  return api;
}

Errc code_of(Status status) {
  switch (status) {
    case out_of_memory: return Errc::out_of_memory;
    case no_device:
    case invalid_device: return Errc::no_device;
    case invalid_image:
    case invalid_kernel_file: return Errc::corrupt;
    case no_binary_for_gpu:
    case shared_object_init_failed:
    case not_found: return Errc::missing_kernel;
    case not_supported: return Errc::unsupported;
    case illegal_address:
    case launch_failure: return Errc::execution_failed;
    default: return Errc::invalid_argument;
  }
}

}  // namespace

Error Api::error(const char* call, Status status) const {
  const char* name = f.error_name(status);
  const char* text = f.error_string(status);
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

}  // namespace pianola::hip
