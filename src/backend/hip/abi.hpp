// SPDX-License-Identifier: Apache-2.0
// The part of the HIP runtime's binary interface that is used, the same from ROCm 5.2 on, declared here so that no
// vendor header is needed. abi_check.cpp compares it with hip_runtime_api.h where that is installed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pianola::hip {

using Status = int;  // hipError_t
using StreamHandle = struct StreamTag*;
using EventHandle = struct EventTag*;
using ModuleHandle = struct ModuleTag*;
using FunctionHandle = struct FunctionTag*;
using GraphHandle = struct GraphTag*;
using NodeHandle = struct NodeTag*;
using ExecHandle = struct ExecTag*;

inline constexpr Status success = 0;
inline constexpr Status invalid_value = 1;
inline constexpr Status out_of_memory = 2;
inline constexpr Status not_initialized = 3;
inline constexpr Status no_device = 100;
inline constexpr Status invalid_device = 101;
inline constexpr Status invalid_image = 200;
inline constexpr Status invalid_context = 201;
inline constexpr Status no_binary_for_gpu = 209;
inline constexpr Status invalid_kernel_file = 218;
inline constexpr Status shared_object_init_failed = 303;
inline constexpr Status invalid_handle = 400;
inline constexpr Status not_found = 500;
inline constexpr Status not_ready = 600;
inline constexpr Status illegal_address = 700;
inline constexpr Status launch_failure = 719;
inline constexpr Status not_supported = 801;

inline constexpr unsigned stream_non_blocking = 1;
inline constexpr unsigned event_blocking_sync = 1;
inline constexpr unsigned event_disable_timing = 2;
inline constexpr unsigned host_alloc_portable = 1;
inline constexpr unsigned host_alloc_mapped = 2;

enum class CopyKind : int { host_to_host = 0, host_to_device = 1, device_to_host = 2, device_to_device = 3 };

enum class DeviceAttribute : int {
  max_block_x = 26,
  max_block_y = 27,
  max_block_z = 28,
  max_grid_x = 29,
  max_grid_y = 30,
  max_grid_z = 31,
  max_threads_per_block = 56,
  max_shared_per_block = 74,
};

/// hipDeviceProp_t as the unversioned hipGetDeviceProperties fills it; only these two fields are read.
struct DeviceProperties {
  static constexpr size_t name_offset = 0;
  static constexpr size_t arch_offset = 396;
  char bytes[4096];  // larger than any version's structure
};

/// hipKernelNodeParams
struct KernelNodeParams {
  unsigned block[3];
  void** extra;
  FunctionHandle function;
  unsigned grid[3];
  void** arguments;
  unsigned shared_bytes;
};

/// hipMemsetParams
struct MemsetNodeParams {
  void* destination;
  unsigned element_size;
  size_t height;
  size_t pitch;
  unsigned value;
  size_t width;
};

/// Every function that is called; all of them exist from 5.2 on.
struct Functions {
  Status (*init)(unsigned flags) = nullptr;
  Status (*driver_version)(int* version) = nullptr;
  const char* (*error_name)(Status status) = nullptr;
  const char* (*error_string)(Status status) = nullptr;
  Status (*device_count)(int* count) = nullptr;
  Status (*device_properties)(DeviceProperties* properties, int device) = nullptr;
  Status (*device_attribute)(int* value, DeviceAttribute attribute, int device) = nullptr;
  Status (*device_memory)(size_t* bytes, int device) = nullptr;
  Status (*get_device)(int* device) = nullptr;
  Status (*set_device)(int device) = nullptr;
  Status (*memory_allocate)(void** pointer, size_t size) = nullptr;
  Status (*memory_free)(void* pointer) = nullptr;
  Status (*host_allocate)(void** pointer, size_t size, unsigned flags) = nullptr;
  Status (*host_free)(void* pointer) = nullptr;
  Status (*copy)(void* destination, const void* source, size_t size, CopyKind kind, StreamHandle stream) = nullptr;
  Status (*set_d8)(void* destination, unsigned char value, size_t count, StreamHandle stream) = nullptr;
  Status (*set_d16)(void* destination, unsigned short value, size_t count, StreamHandle stream) = nullptr;
  Status (*set_d32)(void* destination, int value, size_t count, StreamHandle stream) = nullptr;
  Status (*stream_create)(StreamHandle* stream, unsigned flags) = nullptr;
  Status (*stream_destroy)(StreamHandle stream) = nullptr;
  Status (*stream_synchronize)(StreamHandle stream) = nullptr;
  Status (*stream_wait_event)(StreamHandle stream, EventHandle event, unsigned flags) = nullptr;
  Status (*event_create)(EventHandle* event, unsigned flags) = nullptr;
  Status (*event_destroy)(EventHandle event) = nullptr;
  Status (*event_record)(EventHandle event, StreamHandle stream) = nullptr;
  Status (*event_query)(EventHandle event) = nullptr;
  Status (*event_synchronize)(EventHandle event) = nullptr;
  Status (*event_elapsed)(float* milliseconds, EventHandle first, EventHandle second) = nullptr;
  Status (*module_load)(ModuleHandle* module, const void* image) = nullptr;
  Status (*module_unload)(ModuleHandle module) = nullptr;
  Status (*module_function)(FunctionHandle* function, ModuleHandle module, const char* name) = nullptr;
  Status (*launch)(FunctionHandle function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned shared_bytes, StreamHandle stream, void** arguments,
                   void** extra) = nullptr;
  Status (*graph_create)(GraphHandle* graph, unsigned flags) = nullptr;
  Status (*graph_destroy)(GraphHandle graph) = nullptr;
  Status (*graph_add_kernel)(NodeHandle* node, GraphHandle graph, const NodeHandle* dependencies, size_t count,
                             const KernelNodeParams* params) = nullptr;
  Status (*graph_add_memset)(NodeHandle* node, GraphHandle graph, const NodeHandle* dependencies, size_t count,
                             const MemsetNodeParams* params) = nullptr;
  Status (*graph_add_copy)(NodeHandle* node, GraphHandle graph, const NodeHandle* dependencies, size_t count,
                           void* destination, const void* source, size_t size, CopyKind kind) = nullptr;
  Status (*graph_instantiate)(ExecHandle* exec, GraphHandle graph, unsigned long long flags) = nullptr;
  Status (*graph_launch)(ExecHandle exec, StreamHandle stream) = nullptr;
  Status (*exec_destroy)(ExecHandle exec) = nullptr;
  Status (*exec_set_kernel)(ExecHandle exec, NodeHandle node, const KernelNodeParams* params) = nullptr;
  Status (*exec_set_memset)(ExecHandle exec, NodeHandle node, const MemsetNodeParams* params) = nullptr;
  Status (*exec_set_copy)(ExecHandle exec, NodeHandle node, void* destination, const void* source, size_t size,
                          CopyKind kind) = nullptr;
  Status (*graph_dot)(GraphHandle graph, const char* path, unsigned flags) = nullptr;  // optional, from 5.5
};

}  // namespace pianola::hip
