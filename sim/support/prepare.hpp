// SPDX-License-Identifier: Apache-2.0
// For test programs that may run over a software driver.
#pragma once

#include <cstdint>
#include <string>

#include "pianola/kernel_library.hpp"

namespace pianola::sim {

/// If the library at `driver_path` is a software driver, makes these kernels and the built-in ones known to it.
void prepare(const std::string& driver_path, const KernelLibrary& kernels);

/// What the software driver at `driver_path` has to complain about, and what is left alive in it, if it is one;
/// and what the software Metal found and what is left alive in it, if it is in this build. Precondition: no device of
/// theirs is open.
std::string complaints(const std::string& driver_path);

/// Seeds the order in which the software driver at `driver_path`, if it is one, and the software Metal, if it is in
/// this build, run what is unordered.
void set_order_seed(const std::string& driver_path, uint64_t seed);

}  // namespace pianola::sim
