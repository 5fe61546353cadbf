// SPDX-License-Identifier: Apache-2.0
// The HIP runtime as a table of neutral calls.
#pragma once

#include "backend/driver_graph/driver_table.hpp"
#include "backend/hip/api.hpp"

namespace pianola::hip {

/// A context is a device number here: HIP keeps the rest to itself.
/// Errors: no_device, and whatever the runtime says.
Result<driver_graph::DriverTable> make_table(const Api& api, int ordinal);

}  // namespace pianola::hip
