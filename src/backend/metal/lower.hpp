// SPDX-License-Identifier: Apache-2.0
// A plan becomes a program of encoders, barriers and commands.
#pragma once

#include <array>
#include <optional>

#include "backend/metal/program.hpp"
#include "pianola/device.hpp"

namespace pianola::backend::metal {

/// Command buffers that one submission may be spread over.
inline constexpr uint32_t max_command_buffers = 64;

/// What lowering has to know of the device.
struct Target {
  uint32_t blit_alignment = 4;         ///< offsets and sizes of blits are multiples of it
  bool concurrent = true;              ///< dispatches of an encoder may overlap; else they run one after another
  uint32_t commands_per_buffer = 512;  ///< more of them begin another command buffer
  DeviceProfile profile;
  std::optional<std::array<uint32_t, 3>> most_groups;  ///< if indirect counts are checked against it
};

/// Errors: unsupported (collectives), with the command's index.
Result<Program> lower(const Plan& plan, const Target& target);

}  // namespace pianola::backend::metal
