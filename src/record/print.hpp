// SPDX-License-Identifier: Apache-2.0
// Commands as text, for people: shared by CommandBuffer::to_string() and the printed plan.
#pragma once

#include <string>

#include "record/command_buffer_data.hpp"

namespace pianola {

/// "x[0, 64)".
std::string print(const Range& range, const CommandBuffer::Data& commands);

/// One command, without its index: "fill x[0, 64) with 4 bytes 00000000". Slots, libraries and nested
/// command buffers are those of `commands`.
std::string print(const CommandHeader& command, const CommandBuffer::Data& commands);

}  // namespace pianola
