// SPDX-License-Identifier: Apache-2.0
// What the binary interfaces of the CUDA driver and the HIP runtime have in common: handles, numbers, flags. Each
// vendor's abi_check.cpp compares it with the vendor's header where that is installed.
#pragma once

#include "backend/driver_graph/driver_table.hpp"

namespace pianola::driver_graph::abi {

using Status = int;

inline constexpr Status success = 0;
inline constexpr Status invalid_value = 1;
inline constexpr Status out_of_memory = 2;
inline constexpr Status not_initialized = 3;
inline constexpr Status no_device = 100;
inline constexpr Status invalid_device = 101;
inline constexpr Status invalid_image = 200;
inline constexpr Status invalid_context = 201;
inline constexpr Status no_binary_for_gpu = 209;
inline constexpr Status invalid_source = 218;  ///< CUDA_ERROR_INVALID_PTX, hipErrorInvalidKernelFile
inline constexpr Status shared_object_init_failed = 303;
inline constexpr Status invalid_handle = 400;
inline constexpr Status not_found = 500;
inline constexpr Status ecc_uncorrectable = 214;
inline constexpr Status nvlink_uncorrectable = 220;  // CUDA's
inline constexpr Status not_ready = 600;
inline constexpr Status illegal_address = 700;
inline constexpr Status launch_timeout = 702;
inline constexpr Status context_is_destroyed = 709;
inline constexpr Status assertion = 710;
inline constexpr Status hardware_stack_error = 714;
inline constexpr Status launch_failure = 719;
inline constexpr Status not_supported = 801;

inline constexpr unsigned stream_non_blocking = 1;
inline constexpr unsigned event_disable_timing = 2;
inline constexpr unsigned host_alloc_portable = 1;
inline constexpr unsigned host_alloc_mapped = 2;
inline constexpr unsigned dot_verbose = 1;

/// Statuses of work that ran, after which the context is lost: 714 to 719 are faults of instructions and addresses.
constexpr bool is_fault(Status status) {
  return status == ecc_uncorrectable || status == nvlink_uncorrectable || status == illegal_address ||
         status == launch_timeout || status == context_is_destroyed || status == assertion ||
         (status >= hardware_stack_error && status <= launch_failure);
}

constexpr Errc code_of(Status status) {
  switch (status) {
    case out_of_memory: return Errc::out_of_memory;
    case no_device:
    case invalid_device: return Errc::no_device;
    case invalid_image:
    case invalid_source: return Errc::corrupt;
    case no_binary_for_gpu:
    case shared_object_init_failed:
    case not_found: return Errc::missing_kernel;
    case not_supported: return Errc::unsupported;
    default: return is_fault(status) ? Errc::execution_failed : Errc::invalid_argument;
  }
}

}  // namespace pianola::driver_graph::abi
