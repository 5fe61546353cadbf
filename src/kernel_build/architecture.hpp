// SPDX-License-Identifier: Apache-2.0
// Which architecture a compiled file is for, in its own words.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "pianola/kernel_library.hpp"

namespace pianola::kernel_build {

struct ElfFile;

/// 90 of a cubin for sm_90, sm_90a or sm_90f.
uint32_t cubin_generation(const ElfFile& elf);

/// Whether a device may ask for objects of this name, as in "sm_90a" or "gfx90a:xnack+".
bool is_architecture(ObjectFormat format, std::string_view name);

/// The names that there are, for messages.
std::string_view architectures_of(ObjectFormat format);

/// Such as "sm_90", "gfx90a" or, for any level, "x86-64"; empty where the file does not tell.
std::string architecture_of(ObjectFormat format, std::span<const std::byte> file);

/// Whether a file for `found` may be listed as one for `listed`: of hosts `listed` may be a level, and what follows
/// the number of NVIDIA's and the name of AMD's does not count.
bool suits(ObjectFormat format, std::string_view found, std::string_view listed);

}  // namespace pianola::kernel_build
