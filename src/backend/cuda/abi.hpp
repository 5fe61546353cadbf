// SPDX-License-Identifier: Apache-2.0
// The part of the CUDA driver's binary interface that is used, declared here so that no vendor header is needed.
// abi_check.cpp compares every size, offset and value with cuda.h where that is installed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pianola::cuda {

using Status = int;  // CUresult
using DeviceNumber = int;
using DevicePointer = unsigned long long;
using ContextHandle = struct ContextTag*;
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
inline constexpr Status invalid_ptx = 218;
inline constexpr Status invalid_handle = 400;
inline constexpr Status not_found = 500;
inline constexpr Status not_ready = 600;
inline constexpr Status illegal_address = 700;
inline constexpr Status not_supported = 801;

inline constexpr unsigned stream_non_blocking = 1;
inline constexpr unsigned event_blocking_sync = 1;
inline constexpr unsigned event_disable_timing = 2;
inline constexpr unsigned host_alloc_portable = 1;
inline constexpr unsigned host_alloc_mapped = 2;
inline constexpr unsigned memory_unified = 4;
inline constexpr unsigned dot_verbose = 1;

enum class DeviceAttribute : int {
  max_threads_per_block = 1,
  max_block_x = 2,
  max_block_y = 3,
  max_block_z = 4,
  max_grid_x = 5,
  max_grid_y = 6,
  max_grid_z = 7,
  max_shared_per_block = 8,
  integrated = 18,
  capability_major = 75,
  capability_minor = 76,
  max_shared_per_block_optin = 97,
};

enum class FunctionAttribute : int {
  max_threads_per_block = 0,
  shared_bytes = 1,
  max_dynamic_shared_bytes = 8,
};

/// CUDA_KERNEL_NODE_PARAMS_v2
struct KernelNodeParams {
  FunctionHandle function;
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  void** arguments;
  void** extra;
  void* kernel;
  ContextHandle context;
};

/// CUDA_MEMSET_NODE_PARAMS_v1
struct MemsetNodeParams {
  DevicePointer destination;
  size_t pitch;
  unsigned value;
  unsigned element_size;
  size_t width;
  size_t height;
};

/// CUDA_MEMCPY3D_v2
struct Memcpy3D {
  size_t source_x, source_y, source_z, source_lod;
  unsigned source_type;
  const void* source_host;
  DevicePointer source_device;
  void* source_array;
  void* reserved0;
  size_t source_pitch, source_height;
  size_t destination_x, destination_y, destination_z, destination_lod;
  unsigned destination_type;
  void* destination_host;
  DevicePointer destination_device;
  void* destination_array;
  void* reserved1;
  size_t destination_pitch, destination_height;
  size_t width, height, depth;
};

/// Every function that is called. A null optional one is missing in this driver.
struct Functions {
  Status (*init)(unsigned flags) = nullptr;
  Status (*driver_version)(int* version) = nullptr;
  Status (*error_name)(Status status, const char** text) = nullptr;
  Status (*error_string)(Status status, const char** text) = nullptr;
  Status (*device_count)(int* count) = nullptr;
  Status (*device_get)(DeviceNumber* device, int ordinal) = nullptr;
  Status (*device_name)(char* name, int size, DeviceNumber device) = nullptr;
  Status (*device_attribute)(int* value, DeviceAttribute attribute, DeviceNumber device) = nullptr;
  Status (*device_memory)(size_t* bytes, DeviceNumber device) = nullptr;
  Status (*context_retain)(ContextHandle* context, DeviceNumber device) = nullptr;
  Status (*context_release)(DeviceNumber device) = nullptr;
  Status (*context_get_current)(ContextHandle* context) = nullptr;
  Status (*context_set_current)(ContextHandle context) = nullptr;
  Status (*memory_allocate)(DevicePointer* pointer, size_t size) = nullptr;
  Status (*memory_free)(DevicePointer pointer) = nullptr;
  Status (*host_allocate)(void** pointer, size_t size, unsigned flags) = nullptr;
  Status (*host_free)(void* pointer) = nullptr;
  Status (*copy)(DevicePointer destination, DevicePointer source, size_t size, StreamHandle stream) = nullptr;
  Status (*set_d8)(DevicePointer destination, unsigned char value, size_t count, StreamHandle stream) = nullptr;
  Status (*set_d16)(DevicePointer destination, unsigned short value, size_t count, StreamHandle stream) = nullptr;
  Status (*set_d32)(DevicePointer destination, unsigned value, size_t count, StreamHandle stream) = nullptr;
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
  Status (*function_get)(int* value, FunctionAttribute attribute, FunctionHandle function) = nullptr;
  Status (*function_set)(FunctionHandle function, FunctionAttribute attribute, int value) = nullptr;
  Status (*launch)(FunctionHandle function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned shared_bytes, StreamHandle stream, void** arguments,
                   void** extra) = nullptr;
  Status (*graph_create)(GraphHandle* graph, unsigned flags) = nullptr;
  Status (*graph_destroy)(GraphHandle graph) = nullptr;
  Status (*graph_add_kernel)(NodeHandle* node, GraphHandle graph, const NodeHandle* dependencies, size_t count,
                             const KernelNodeParams* params) = nullptr;
  Status (*graph_add_memset)(NodeHandle* node, GraphHandle graph, const NodeHandle* dependencies, size_t count,
                             const MemsetNodeParams* params, ContextHandle context) = nullptr;
  Status (*graph_add_memcpy)(NodeHandle* node, GraphHandle graph, const NodeHandle* dependencies, size_t count,
                             const Memcpy3D* params, ContextHandle context) = nullptr;
  Status (*graph_instantiate)(ExecHandle* exec, GraphHandle graph, unsigned long long flags) = nullptr;
  Status (*graph_launch)(ExecHandle exec, StreamHandle stream) = nullptr;
  Status (*graph_upload)(ExecHandle exec, StreamHandle stream) = nullptr;  // optional
  Status (*exec_destroy)(ExecHandle exec) = nullptr;
  Status (*exec_set_kernel)(ExecHandle exec, NodeHandle node, const KernelNodeParams* params) = nullptr;
  Status (*exec_set_memset)(ExecHandle exec, NodeHandle node, const MemsetNodeParams* params,
                            ContextHandle context) = nullptr;
  Status (*exec_set_memcpy)(ExecHandle exec, NodeHandle node, const Memcpy3D* params, ContextHandle context) = nullptr;
  Status (*graph_dot)(GraphHandle graph, const char* path, unsigned flags) = nullptr;  // optional
};

}  // namespace pianola::cuda
