// SPDX-License-Identifier: Apache-2.0
// Gives `%` in SPIR-V the meaning that it has in C++.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace pianola::kernel_build {

/// The module with a - b * (a / b) in place of each OpSMod, whose result has the sign of the divisor and, in Vulkan,
/// any value for negative operands. Precondition: a compiler made it; what is no SPIR-V comes back as it is.
std::vector<std::byte> with_cpp_remainders(std::span<const std::byte> module);

}  // namespace pianola::kernel_build
