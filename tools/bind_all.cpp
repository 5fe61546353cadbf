// SPDX-License-Identifier: Apache-2.0
#include "bind_all.hpp"

#include <vector>

namespace tool {

using pianola::Result;

Result<pianola::InstantiateOptions> bind_all(const pianola::Device& device, const pianola::CommandBuffer& commands) {
  pianola::InstantiateOptions options;
  for (uint32_t i = 0; i < commands.slots().size(); ++i) {
    const pianola::SlotInfo& slot = commands.slots()[i];
    auto buffer = device.allocate(slot.size, slot.kind.value_or(pianola::MemoryKind::device));
    if (!buffer) return buffer.error();
    const std::vector<std::byte> zeros(slot.size);
    if (Result<> written = buffer->write(0, zeros); !written) return written.error();
    options.bindings.push_back({pianola::SlotId(i), *buffer});
  }
  for (const pianola::ConstantInfo& constant : commands.constants()) {
    const std::vector<std::byte> zeros(constant.size);
    options.constants.emplace_back(constant.name, std::span<const std::byte>(zeros));
  }
  return options;
}

}  // namespace tool
