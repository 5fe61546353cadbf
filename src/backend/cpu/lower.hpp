// SPDX-License-Identifier: Apache-2.0
// A plan becomes a program.
#pragma once

#include "backend/cpu/program.hpp"

namespace pianola::backend::cpu {

/// Errors: missing_kernel, unsupported (collectives), those of loading host objects.
Result<Program> lower(const Plan& plan, KernelCache& kernels, uint32_t threads);

}  // namespace pianola::backend::cpu
