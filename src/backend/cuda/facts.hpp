// SPDX-License-Identifier: Apache-2.0
// What a CUDA device is: its limits, which code suits it, what its driver is known to do wrong.
#pragma once

#include "backend/cuda/api.hpp"
#include "backend/driver_graph/driver_table.hpp"

namespace pianola::cuda {

struct Retained {
  driver_graph::Context context = nullptr;
  driver_graph::DeviceFacts facts;
};

/// Retains the device's primary context. Errors: no_device, out_of_memory.
Result<Retained> retain(const Api& api, int ordinal);
Result<> release(const void* api, driver_graph::Context context);

/// PTX of the same or an earlier generation is compiled by the driver; a cubin runs on its own generation only.
int code_rank(const driver_graph::DeviceFacts& facts, const CodeObject& object);

/// Errors: corrupt. Loaders may crash on bytes that are no module.
Result<> check_image(std::span<const std::byte> image, ObjectFormat format);

}  // namespace pianola::cuda
