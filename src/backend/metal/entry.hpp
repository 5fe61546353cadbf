// SPDX-License-Identifier: Apache-2.0
// The Metal backend as the registry sees it: plain C++, with nothing of Apple's.
//
//   device.mm        limits, costs, queues        memory.mm   shared and private buffers
//   buffer_table.cpp which memory is which        transfer.mm copies for the host
//   kernels.mm       libraries, pipeline states   group.cpp   which work shares an encoder
//   lower.cpp        a plan becomes a program     encode.mm   a program becomes a command buffer
//   executable.mm    what a program needs         submit.mm   queues and completion
//   convert.mm       errors and names
#pragma once

#include "backend/backend.hpp"

namespace pianola::backend::metal {

Result<uint32_t> count(const DeviceOptions& options);
Result<std::unique_ptr<Device>> open(uint32_t index, const DeviceOptions& options);

}  // namespace pianola::backend::metal
