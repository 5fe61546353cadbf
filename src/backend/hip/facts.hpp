// SPDX-License-Identifier: Apache-2.0
// What a HIP device is: its limits, which code suits it, what its runtime is known to do wrong.
#pragma once

#include "backend/driver_graph/driver_table.hpp"
#include "backend/hip/api.hpp"

namespace pianola::hip {

/// Errors: no_device, and whatever the runtime says.
Result<driver_graph::DeviceFacts> read_facts(const Api& api, int device);

/// A code object runs on the architecture it was made for, with the features that it names; the more, the better.
int code_rank(const driver_graph::DeviceFacts& facts, const CodeObject& object);

/// Errors: corrupt. hipModuleLoadData crashes on bytes that are no AMD code object.
Result<> check_image(std::span<const std::byte> image);

driver_graph::Quirks quirks_of(int version);

}  // namespace pianola::hip
