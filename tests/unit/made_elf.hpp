// SPDX-License-Identifier: Apache-2.0
// ELF files of which only the header and the sections are read: no vendor's compiler is needed to make them.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace pianola::kernel_build {

inline constexpr uint32_t made_elf_bits = 1;
inline constexpr uint32_t made_elf_strings = 3;
inline constexpr uint32_t made_elf_note = 7;
inline constexpr uint32_t made_elf_no_bits = 8;

struct ElfFileSection {
  std::string name;
  uint32_t type = made_elf_bits;
  uint64_t size = 0;  ///< of those without bytes
  std::vector<uint8_t> bytes;
};

struct ElfFileHeader {
  uint8_t abi_version = 0;
  uint16_t machine = 0;
  uint32_t flags = 0;
};

/// 64 bits wide and little-endian, with a section for the names behind the others.
inline std::string make_elf(const ElfFileHeader& header, std::vector<ElfFileSection> sections) {
  constexpr uint64_t header_size = 64, entry_size = 64;
  std::string names(1, '\0');
  sections.push_back({.name = ".shstrtab", .type = made_elf_strings, .bytes = {}});
  for (const ElfFileSection& section : sections) names += section.name + '\0';
  sections.back().bytes.assign(names.begin(), names.end());
  std::string contents;
  std::string table(entry_size, '\0');
  const auto put = [](std::string& into, size_t at, auto value) {
    std::memcpy(into.data() + at, &value, sizeof value);
  };
  uint32_t name = 1;
  for (const ElfFileSection& section : sections) {
    std::string entry(entry_size, '\0');
    put(entry, 0, name);
    put(entry, 4, section.type);
    put(entry, 24, header_size + contents.size());
    put(entry, 32, section.type == made_elf_no_bits ? section.size : uint64_t{section.bytes.size()});
    table += entry;
    contents.append(section.bytes.begin(), section.bytes.end());
    name += static_cast<uint32_t>(section.name.size()) + 1;
  }
  std::string file("\177ELF\2\1\1", 7);
  file.resize(header_size);
  file[8] = static_cast<char>(header.abi_version);
  put(file, 18, header.machine);
  put(file, 40, header_size + contents.size());
  put(file, 48, header.flags);
  put(file, 58, uint16_t{entry_size});
  put(file, 60, static_cast<uint16_t>(sections.size() + 1));
  put(file, 62, static_cast<uint16_t>(sections.size()));
  return file + contents + table;
}

}  // namespace pianola::kernel_build
