// SPDX-License-Identifier: Apache-2.0
// What replay costs on known devices.
#pragma once

#include "backend/driver_graph/driver_table.hpp"

namespace pianola::driver_graph {

/// The measured table of the device's kind, or one that says it was not measured.
DeviceProfile profile_of(const DeviceFacts& facts);

}  // namespace pianola::driver_graph
