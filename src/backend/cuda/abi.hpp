// SPDX-License-Identifier: Apache-2.0
// The part of the CUDA driver's binary interface that is used and is not HIP's too, declared here so that no vendor
// header is needed. abi_check.cpp compares every size, offset and value with cuda.h where that is installed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/driver_graph/abi.hpp"

namespace pianola::cuda {

using namespace driver_graph::abi;
using driver_graph::Context;
using driver_graph::Event;
using driver_graph::Exec;
using driver_graph::Function;
using driver_graph::GraphObject;
using driver_graph::Module;
using driver_graph::Node;
using driver_graph::Stream;

using DeviceNumber = int;
/// CUdeviceptr is an integer of a pointer's size, and passed like one.
using DevicePointer = void*;

inline constexpr unsigned memory_host = 1;
inline constexpr unsigned memory_unified = 4;

enum class DeviceAttribute : int {
  max_threads_per_block = 1,
  max_block_x = 2,
  max_block_y = 3,
  max_block_z = 4,
  max_grid_x = 5,
  max_grid_y = 6,
  max_grid_z = 7,
  max_shared_per_block = 8,
  capability_major = 75,
  capability_minor = 76,
  max_shared_per_block_optin = 97,
};

enum class FunctionAttribute : int {
  max_dynamic_shared = 8,
};

enum class PointerAttribute : int {
  memory_type = 2,     ///< unsigned; 0 for memory that the driver does not know
  is_managed = 8,      ///< unsigned
  device_ordinal = 9,  ///< int
  range_start = 11,    ///< DevicePointer
  range_size = 12,     ///< size_t
};

/// CUDA_KERNEL_NODE_PARAMS_v2
struct KernelNodeParams {
  Function function;
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  void** arguments;
  void** extra;
  void* kernel;
  Context context;
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
  const void* source_device;
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

}  // namespace pianola::cuda
