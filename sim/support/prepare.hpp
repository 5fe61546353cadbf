// SPDX-License-Identifier: Apache-2.0
// For test programs that may run over a software driver.
#pragma once

#include <string>

#include "pianola/kernel_library.hpp"

namespace pianola::sim {

/// If the library at `driver_path` is a software driver, makes these kernels and the built-in ones known to it.
void prepare(const std::string& driver_path, const KernelLibrary& kernels);

/// What the software driver has to complain about, and what is left alive in it; empty if it is none.
std::string complaints(const std::string& driver_path);

}  // namespace pianola::sim
