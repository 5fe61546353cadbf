// SPDX-License-Identifier: Apache-2.0
// The CUDA driver, loaded at run time.
#pragma once

#include <string>

#include "backend/cuda/abi.hpp"
#include "pianola/error.hpp"

namespace pianola::cuda {

struct Api {
  Functions f;
  int version = 0;  ///< 1000 * major + 10 * minor

  /// An Error for a call that did not succeed, with the driver's own words.
  Error error(const char* call, Status status) const;
  Result<> check(const char* call, Status status) const {
    if (status == success) return {};
    return error(call, status);
  }
};

/// The driver at `path`, or libcuda.so.1 of the search path; loaded and initialised once.
/// Errors: no_device (no library, no CUDA driver, one that is too old, or without a GPU).
Result<const Api*> load(const std::string& path);

}  // namespace pianola::cuda
