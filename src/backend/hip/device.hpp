// SPDX-License-Identifier: Apache-2.0
// The HIP backend's entry in the registry.
#pragma once

#include <memory>

#include "backend/backend.hpp"

namespace pianola::hip {

/// Errors: no_device, with the reason.
Result<uint32_t> count(const DeviceOptions& options);
Result<std::unique_ptr<backend::Device>> open(uint32_t index, const DeviceOptions& options);

}  // namespace pianola::hip
