// SPDX-License-Identifier: Apache-2.0
// What elf.cpp reads of an ELF file of 64 bits. Not every system that builds kernels has <elf.h>; where it is, the
// compiler compares.
#pragma once

#include <cstddef>
#include <cstdint>

#if __has_include(<elf.h>)
#include <elf.h>
#endif

namespace pianola::kernel_build::elf_layout {

struct FileHeader {
  uint8_t e_ident[16];
  uint16_t e_type, e_machine;
  uint32_t e_version;
  uint64_t e_entry, e_phoff, e_shoff;
  uint32_t e_flags;
  uint16_t e_ehsize, e_phentsize, e_phnum, e_shentsize, e_shnum, e_shstrndx;
};
struct SectionHeader {
  uint32_t sh_name, sh_type;
  uint64_t sh_flags, sh_addr, sh_offset, sh_size;
  uint32_t sh_link, sh_info;
  uint64_t sh_addralign, sh_entsize;
};
struct Symbol {
  uint32_t st_name;
  uint8_t st_info, st_other;
  uint16_t st_shndx;
  uint64_t st_value, st_size;
};

inline constexpr char magic[] = {0x7f, 'E', 'L', 'F'};
/// Places in e_ident, and what stands there.
inline constexpr size_t place_of_class = 4, place_of_data = 5, place_of_abi_version = 8;
inline constexpr uint8_t class_64 = 2, data_little_endian = 1;
inline constexpr uint32_t section_null = 0, section_without_bytes = 8;
inline constexpr uint16_t undefined_section = 0;

#if __has_include(<elf.h>)
static_assert(sizeof(FileHeader) == sizeof(Elf64_Ehdr) &&
              offsetof(FileHeader, e_machine) == offsetof(Elf64_Ehdr, e_machine) &&
              offsetof(FileHeader, e_shoff) == offsetof(Elf64_Ehdr, e_shoff) &&
              offsetof(FileHeader, e_flags) == offsetof(Elf64_Ehdr, e_flags) &&
              offsetof(FileHeader, e_shentsize) == offsetof(Elf64_Ehdr, e_shentsize) &&
              offsetof(FileHeader, e_shnum) == offsetof(Elf64_Ehdr, e_shnum) &&
              offsetof(FileHeader, e_shstrndx) == offsetof(Elf64_Ehdr, e_shstrndx));
static_assert(sizeof(SectionHeader) == sizeof(Elf64_Shdr) &&
              offsetof(SectionHeader, sh_type) == offsetof(Elf64_Shdr, sh_type) &&
              offsetof(SectionHeader, sh_offset) == offsetof(Elf64_Shdr, sh_offset) &&
              offsetof(SectionHeader, sh_size) == offsetof(Elf64_Shdr, sh_size));
static_assert(sizeof(Symbol) == sizeof(Elf64_Sym) && offsetof(Symbol, st_shndx) == offsetof(Elf64_Sym, st_shndx));
static_assert(magic[0] == ELFMAG[0] && magic[1] == ELFMAG[1] && magic[2] == ELFMAG[2] && magic[3] == ELFMAG[3] &&
              sizeof magic == SELFMAG);
static_assert(place_of_class == EI_CLASS && place_of_data == EI_DATA && place_of_abi_version == EI_ABIVERSION);
static_assert(class_64 == ELFCLASS64 && data_little_endian == ELFDATA2LSB && undefined_section == SHN_UNDEF);
static_assert(section_null == SHT_NULL && section_without_bytes == SHT_NOBITS);
#endif

}  // namespace pianola::kernel_build::elf_layout
