// SPDX-License-Identifier: Apache-2.0
// Checks a plan against what a device can do, before any native object is made.
#pragma once

#include <vector>

#include "api/impl.hpp"

namespace pianola {

/// Every dispatch fits the device. Gives the group counts that can only be checked when their constant is known.
/// Errors, with the command's index: limit_exceeded, misaligned.
Result<std::vector<NamedGroups>> check_limits(const Plan& plan, const DeviceLimits& limits);

/// A group count that a named constant gives. Errors: limit_exceeded.
Result<> check_named_groups(const NamedGroups& groups, uint32_t count, const DeviceLimits& limits);

}  // namespace pianola
