// SPDX-License-Identifier: Apache-2.0
// Reads the sections of a 64-bit little-endian ELF file, whatever machine it is for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "pianola/error.hpp"

namespace pianola::kernel_build {

struct ElfSection {
  std::string_view name;
  uint32_t type = 0;
  uint64_t size = 0;                 ///< in memory, also of sections without bytes in the file
  std::span<const std::byte> bytes;  ///< empty for those
};

struct ElfFile {
  uint16_t machine = 0;
  uint8_t abi_version = 0;
  uint32_t flags = 0;  ///< of the machine
  std::vector<ElfSection> sections;
  std::unordered_map<std::string_view, size_t> places;  ///< of each name's first section
  /// The first section of that name, or null.
  const ElfSection* find(std::string_view name) const;
  /// The name of .symtab's symbol of that number, or nothing.
  std::string_view symbol_name(uint64_t number) const;
};

inline constexpr uint16_t elf_machine_x86_64 = 62;
inline constexpr uint16_t elf_machine_aarch64 = 183;
inline constexpr uint16_t elf_machine_cuda = 190;
inline constexpr uint16_t elf_machine_amdgpu = 224;

/// Views into `file`; names of over 16 KiB are cut there. Errors: corrupt.
Result<ElfFile> read_elf(std::span<const std::byte> file);

/// Names of functions and objects that the shared object expects from elsewhere.
/// Precondition: `elf` came from read_elf().
std::vector<std::string_view> undefined_symbols(const ElfFile& elf);

/// Names of those that it gives to others. Precondition: the same.
std::vector<std::string_view> defined_symbols(const ElfFile& elf);

}  // namespace pianola::kernel_build
