// SPDX-License-Identifier: Apache-2.0
// What kernels can be built for.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pianola/error.hpp"
#include "pianola/kernel_library.hpp"

namespace pianola::kernel_build {

struct Target {
  ObjectFormat format = ObjectFormat::host;
  std::string_view arch;  ///< also the name a user gives

  bool operator==(const Target&) const = default;
};

std::span<const Target> all_targets();

/// Targets for names as users write them: an architecture, or a group ("host": the architectures of this
/// machine's processor family; "ptx", "hsaco", "spirv", "all"). Each target comes once, in the order given.
/// Errors: invalid_argument.
Result<std::vector<Target>> parse_targets(std::span<const std::string> names);

}  // namespace pianola::kernel_build
