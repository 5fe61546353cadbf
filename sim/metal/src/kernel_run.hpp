// SPDX-License-Identifier: Apache-2.0
// Runs one dispatch on the CPU and checks every access of its kernel.
#pragma once

#include "commands.hpp"

namespace sim_metal {

/// Precondition: device_lock() is held and begin_command() was called.
void run_dispatch(Command& command, CommandBuffer& buffer);

}  // namespace sim_metal
