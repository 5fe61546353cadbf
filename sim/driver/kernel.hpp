// SPDX-License-Identifier: Apache-2.0
// Kernels as the software drivers run them: host functions that a test made known under the kernel's name.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "control.h"

namespace sim {

struct Kernel {
  std::string name;
  pianola_host_kernel function = nullptr;
  std::vector<pianola_sim_argument> arguments;
  uint32_t buffers = 0;
  uint32_t workgroup_threads = 1;
  uint32_t constant_bytes = 0;
  uint32_t shared_bytes = 0;
  uint32_t dynamic_shared_bytes = 0;
};

/// One call of a kernel, its arguments copied.
struct KernelRun {
  std::shared_ptr<const Kernel> kernel;
  std::vector<void*> buffers;
  std::vector<std::byte> constants;
  uint32_t groups[3] = {1, 1, 1};

  uint64_t group_count() const { return uint64_t{groups[0]} * groups[1] * groups[2]; }
  /// Workgroups begin to end - 1.
  void run(uint64_t begin, uint64_t end) const;
};

std::shared_ptr<const Kernel> kernel_from(const pianola_sim_kernel& described);

/// Calls visit(name, symbol) for every dynamic symbol of an ELF object. The object is whole: nothing is checked.
template <class Visit>
void each_symbol(const std::byte* image, Visit visit) {
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(image);
  const auto* sections = reinterpret_cast<const Elf64_Shdr*>(image + header->e_shoff);
  for (int i = 0; i < header->e_shnum; ++i) {
    if (sections[i].sh_type != SHT_DYNSYM) continue;
    const auto* symbols = reinterpret_cast<const Elf64_Sym*>(image + sections[i].sh_offset);
    const auto* strings = reinterpret_cast<const char*>(image + sections[sections[i].sh_link].sh_offset);
    for (size_t j = 0; j < sections[i].sh_size / sizeof(Elf64_Sym); ++j) {
      visit(std::string_view(strings + symbols[j].st_name), symbols[j]);
    }
  }
}

}  // namespace sim
