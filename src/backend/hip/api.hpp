// SPDX-License-Identifier: Apache-2.0
// AMD's HIP runtime, loaded at run time.
#pragma once

#include <string>

#include "backend/hip/abi.hpp"
#include "pianola/error.hpp"

namespace pianola::hip {

struct Api {
  Functions f;
  int version = 0;  ///< 10,000,000 * major + 100,000 * minor + patch

  /// An Error for a call that did not succeed, with the runtime's own words.
  Error error(const char* call, Status status) const;
  Result<> check(const char* call, Status status) const {
    if (status == success) return {};
    return error(call, status);
  }
};

/// The runtime at `path`, or libamdhip64.so of the search path, newest first; loaded and initialised once.
/// Errors: no_device (no library, not HIP, too old, or without a GPU).
Result<const Api*> load(const std::string& path);

}  // namespace pianola::hip
