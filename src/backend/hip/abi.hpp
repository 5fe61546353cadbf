// SPDX-License-Identifier: Apache-2.0
// The part of the HIP runtime's binary interface that is used and is not CUDA's too, the same from ROCm 5.2 on,
// declared here so that no vendor header is needed. abi_check.cpp compares it with hip_runtime_api.h where that is
// installed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/driver_graph/abi.hpp"

namespace pianola::hip {

using namespace driver_graph::abi;
using driver_graph::Event;
using driver_graph::Exec;
using driver_graph::Function;
using driver_graph::GraphObject;
using driver_graph::Module;
using driver_graph::Node;
using driver_graph::Stream;

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

/// hipPointerAttribute_t. The numbers of the types changed in 6.0, so they are not read.
struct PointerAttributes {
  int type;
  int device;
  void* device_pointer;
  void* host_pointer;
  int is_managed;
  unsigned flags;
};

/// hipKernelNodeParams
struct KernelNodeParams {
  unsigned block[3];
  void** extra;
  Function function;
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

}  // namespace pianola::hip
