// SPDX-License-Identifier: Apache-2.0
// Compares what a kernel library says of its kernels with what the compiled files say themselves.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kernel_build/reflect.hpp"
#include "pianola/kernel_library.hpp"

namespace pianola::kernel_build {

/// One object as the check sees it.
struct ObjectView {
  ObjectFormat format = ObjectFormat::host;
  std::string_view arch;
  std::span<const std::byte> bytes;
  std::span<const CodeObject::Entry> entries;
};

/// What disagrees, one line each: kernel, target, what is said by whom. Formats that say nothing cannot disagree.
std::vector<std::string> find_disagreements(std::span<const KernelInfo> kernels, const ObjectView& object);

/// The same for one kernel and what its file says.
std::vector<std::string> compare(const KernelInfo& kernel, const Reflection& reflection);

}  // namespace pianola::kernel_build
