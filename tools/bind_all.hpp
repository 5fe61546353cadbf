// SPDX-License-Identifier: Apache-2.0
// Something for everything that a list leaves open.
#pragma once

#include "pianola/device.hpp"

namespace tool {

/// Memory for every slot, zero for every named constant.
pianola::Result<pianola::InstantiateOptions> bind_all(const pianola::Device& device,
                                                      const pianola::CommandBuffer& commands);

}  // namespace tool
