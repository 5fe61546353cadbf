// SPDX-License-Identifier: Apache-2.0
// Compares the declarations of abi.hpp with the vendor's header where that is installed; empty elsewhere.
#include "backend/cuda/abi.hpp"

#if __has_include(<cuda.h>)
#include <cuda.h>

namespace pianola::cuda {
namespace {

static_assert(sizeof(KernelNodeParams) == sizeof(CUDA_KERNEL_NODE_PARAMS_v2));
static_assert(offsetof(KernelNodeParams, grid) == offsetof(CUDA_KERNEL_NODE_PARAMS_v2, gridDimX));
static_assert(offsetof(KernelNodeParams, block) == offsetof(CUDA_KERNEL_NODE_PARAMS_v2, blockDimX));
static_assert(offsetof(KernelNodeParams, shared_bytes) == offsetof(CUDA_KERNEL_NODE_PARAMS_v2, sharedMemBytes));
static_assert(offsetof(KernelNodeParams, arguments) == offsetof(CUDA_KERNEL_NODE_PARAMS_v2, kernelParams));
static_assert(offsetof(KernelNodeParams, kernel) == offsetof(CUDA_KERNEL_NODE_PARAMS_v2, kern));
static_assert(offsetof(KernelNodeParams, context) == offsetof(CUDA_KERNEL_NODE_PARAMS_v2, ctx));
static_assert(sizeof(MemsetNodeParams) == sizeof(CUDA_MEMSET_NODE_PARAMS_v1));
static_assert(offsetof(MemsetNodeParams, value) == offsetof(CUDA_MEMSET_NODE_PARAMS_v1, value));
static_assert(offsetof(MemsetNodeParams, element_size) == offsetof(CUDA_MEMSET_NODE_PARAMS_v1, elementSize));
static_assert(offsetof(MemsetNodeParams, width) == offsetof(CUDA_MEMSET_NODE_PARAMS_v1, width));
static_assert(sizeof(Memcpy3D) == sizeof(CUDA_MEMCPY3D_v2));
static_assert(offsetof(Memcpy3D, source_type) == offsetof(CUDA_MEMCPY3D_v2, srcMemoryType));
static_assert(offsetof(Memcpy3D, source_device) == offsetof(CUDA_MEMCPY3D_v2, srcDevice));
static_assert(offsetof(Memcpy3D, destination_type) == offsetof(CUDA_MEMCPY3D_v2, dstMemoryType));
static_assert(offsetof(Memcpy3D, destination_device) == offsetof(CUDA_MEMCPY3D_v2, dstDevice));
static_assert(offsetof(Memcpy3D, width) == offsetof(CUDA_MEMCPY3D_v2, WidthInBytes));
static_assert(sizeof(DevicePointer) == sizeof(CUdeviceptr));

static_assert(success == CUDA_SUCCESS && invalid_value == CUDA_ERROR_INVALID_VALUE);
static_assert(out_of_memory == CUDA_ERROR_OUT_OF_MEMORY && not_initialized == CUDA_ERROR_NOT_INITIALIZED);
static_assert(no_device == CUDA_ERROR_NO_DEVICE && invalid_device == CUDA_ERROR_INVALID_DEVICE);
static_assert(invalid_image == CUDA_ERROR_INVALID_IMAGE && invalid_context == CUDA_ERROR_INVALID_CONTEXT);
static_assert(no_binary_for_gpu == CUDA_ERROR_NO_BINARY_FOR_GPU && invalid_source == CUDA_ERROR_INVALID_PTX);
static_assert(shared_object_init_failed == CUDA_ERROR_SHARED_OBJECT_INIT_FAILED);
static_assert(invalid_handle == CUDA_ERROR_INVALID_HANDLE && not_found == CUDA_ERROR_NOT_FOUND);
static_assert(not_ready == CUDA_ERROR_NOT_READY && illegal_address == CUDA_ERROR_ILLEGAL_ADDRESS);
static_assert(launch_timeout == CUDA_ERROR_LAUNCH_TIMEOUT && assertion == CUDA_ERROR_ASSERT);
static_assert(context_is_destroyed == CUDA_ERROR_CONTEXT_IS_DESTROYED);
static_assert(hardware_stack_error == CUDA_ERROR_HARDWARE_STACK_ERROR && launch_failure == CUDA_ERROR_LAUNCH_FAILED);
static_assert(not_supported == CUDA_ERROR_NOT_SUPPORTED);
static_assert(stream_non_blocking == CU_STREAM_NON_BLOCKING && memory_unified == CU_MEMORYTYPE_UNIFIED);
static_assert(memory_host == CU_MEMORYTYPE_HOST);
static_assert(event_disable_timing == CU_EVENT_DISABLE_TIMING);
static_assert(host_alloc_portable == CU_MEMHOSTALLOC_PORTABLE && host_alloc_mapped == CU_MEMHOSTALLOC_DEVICEMAP);
static_assert(dot_verbose == CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE);

template <class T>
constexpr int number(T value) {
  return static_cast<int>(value);
}
static_assert(number(DeviceAttribute::max_threads_per_block) == CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
static_assert(number(DeviceAttribute::max_block_x) == CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X);
static_assert(number(DeviceAttribute::max_block_z) == CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
static_assert(number(DeviceAttribute::max_grid_x) == CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
static_assert(number(DeviceAttribute::max_grid_z) == CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
static_assert(number(DeviceAttribute::max_shared_per_block) == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
static_assert(number(DeviceAttribute::max_shared_per_block_optin) ==
              CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
static_assert(number(FunctionAttribute::max_dynamic_shared) == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
static_assert(number(DeviceAttribute::capability_major) == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
static_assert(number(DeviceAttribute::capability_minor) == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
static_assert(number(PointerAttribute::memory_type) == CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
static_assert(number(PointerAttribute::is_managed) == CU_POINTER_ATTRIBUTE_IS_MANAGED);
static_assert(number(PointerAttribute::device_ordinal) == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
static_assert(number(PointerAttribute::range_start) == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR);
static_assert(number(PointerAttribute::range_size) == CU_POINTER_ATTRIBUTE_RANGE_SIZE);

}  // namespace
}  // namespace pianola::cuda
#endif
