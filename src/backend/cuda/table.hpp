// SPDX-License-Identifier: Apache-2.0
// The CUDA driver as a table of neutral calls.
#pragma once

#include "backend/cuda/api.hpp"
#include "backend/driver_graph/driver_table.hpp"

namespace pianola::cuda {

/// Retains the device's primary context; the table's release_context() gives it back.
/// Errors: no_device, and whatever the driver says.
Result<driver_graph::DriverTable> make_table(const Api& api, int ordinal);

}  // namespace pianola::cuda
