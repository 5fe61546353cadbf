// SPDX-License-Identifier: Apache-2.0
// Compares the declarations of abi.hpp with the vendor's header where that is installed; empty elsewhere.
#include "backend/hip/abi.hpp"

#if __has_include(<hip/hip_runtime_api.h>)
#define __HIP_PLATFORM_AMD__ 1  // NOLINT: the vendor's switch
#include <hip/hip_runtime_api.h>

namespace pianola::hip {
namespace {

static_assert(sizeof(KernelNodeParams) == sizeof(hipKernelNodeParams));
static_assert(offsetof(KernelNodeParams, extra) == offsetof(hipKernelNodeParams, extra));
static_assert(offsetof(KernelNodeParams, function) == offsetof(hipKernelNodeParams, func));
static_assert(offsetof(KernelNodeParams, grid) == offsetof(hipKernelNodeParams, gridDim));
static_assert(offsetof(KernelNodeParams, arguments) == offsetof(hipKernelNodeParams, kernelParams));
static_assert(offsetof(KernelNodeParams, shared_bytes) == offsetof(hipKernelNodeParams, sharedMemBytes));
static_assert(sizeof(MemsetNodeParams) == sizeof(hipMemsetParams));
static_assert(offsetof(MemsetNodeParams, element_size) == offsetof(hipMemsetParams, elementSize));
static_assert(offsetof(MemsetNodeParams, height) == offsetof(hipMemsetParams, height));
static_assert(offsetof(MemsetNodeParams, pitch) == offsetof(hipMemsetParams, pitch));
static_assert(offsetof(MemsetNodeParams, value) == offsetof(hipMemsetParams, value));
static_assert(offsetof(MemsetNodeParams, width) == offsetof(hipMemsetParams, width));
static_assert(sizeof(hipDeviceProp_t) <= sizeof(DeviceProperties));
#if HIP_VERSION_MAJOR < 6
static_assert(DeviceProperties::name_offset == offsetof(hipDeviceProp_t, name));
static_assert(DeviceProperties::arch_offset == offsetof(hipDeviceProp_t, gcnArchName));
#endif

static_assert(sizeof(PointerAttributes) == sizeof(hipPointerAttribute_t));
static_assert(offsetof(PointerAttributes, device) == offsetof(hipPointerAttribute_t, device));
static_assert(offsetof(PointerAttributes, host_pointer) == offsetof(hipPointerAttribute_t, hostPointer));
static_assert(offsetof(PointerAttributes, is_managed) == offsetof(hipPointerAttribute_t, isManaged));

static_assert(success == hipSuccess && invalid_value == hipErrorInvalidValue);
static_assert(out_of_memory == hipErrorOutOfMemory && not_initialized == hipErrorNotInitialized);
static_assert(no_device == hipErrorNoDevice && invalid_device == hipErrorInvalidDevice);
static_assert(invalid_image == hipErrorInvalidImage && invalid_context == hipErrorInvalidContext);
static_assert(no_binary_for_gpu == hipErrorNoBinaryForGpu && invalid_source == hipErrorInvalidKernelFile);
static_assert(shared_object_init_failed == hipErrorSharedObjectInitFailed);
static_assert(invalid_handle == hipErrorInvalidHandle && not_found == hipErrorNotFound);
static_assert(not_ready == hipErrorNotReady && illegal_address == hipErrorIllegalAddress);
static_assert(launch_timeout == hipErrorLaunchTimeOut && assertion == hipErrorAssert);
static_assert(launch_failure == hipErrorLaunchFailure && not_supported == hipErrorNotSupported);
static_assert(stream_non_blocking == hipStreamNonBlocking);
static_assert(event_disable_timing == hipEventDisableTiming);
static_assert(host_alloc_portable == hipHostMallocPortable && host_alloc_mapped == hipHostMallocMapped);

template <class T>
constexpr int number(T value) {
  return static_cast<int>(value);
}
static_assert(number(CopyKind::host_to_host) == hipMemcpyHostToHost);
static_assert(number(CopyKind::host_to_device) == hipMemcpyHostToDevice);
static_assert(number(CopyKind::device_to_host) == hipMemcpyDeviceToHost);
static_assert(number(CopyKind::device_to_device) == hipMemcpyDeviceToDevice);
static_assert(number(DeviceAttribute::max_block_x) == hipDeviceAttributeMaxBlockDimX);
static_assert(number(DeviceAttribute::max_block_z) == hipDeviceAttributeMaxBlockDimZ);
static_assert(number(DeviceAttribute::max_grid_x) == hipDeviceAttributeMaxGridDimX);
static_assert(number(DeviceAttribute::max_grid_z) == hipDeviceAttributeMaxGridDimZ);
static_assert(number(DeviceAttribute::max_threads_per_block) == hipDeviceAttributeMaxThreadsPerBlock);
static_assert(number(DeviceAttribute::max_shared_per_block) == hipDeviceAttributeMaxSharedMemoryPerBlock);

}  // namespace
}  // namespace pianola::hip
#endif
