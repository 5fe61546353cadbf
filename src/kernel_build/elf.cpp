// SPDX-License-Identifier: Apache-2.0
// Layouts are those of the System V ABI, chapters "ELF Header", "Sections" and "Symbol Table".
#include "kernel_build/elf.hpp"

#include <algorithm>
#include <cstring>

#include "kernel_build/elf_layout.hpp"

namespace pianola::kernel_build {
namespace {

using Bytes = std::span<const std::byte>;

Error corrupt(std::string message) {
  return {.code = Errc::corrupt, .message = std::move(message)};
}

template <class T>
T value_at(Bytes bytes, uint64_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

bool has(Bytes bytes, uint64_t offset, uint64_t size) {
  return offset <= bytes.size() && size <= bytes.size() - offset;
}

/// A file of many names that lie in one another would take for ever otherwise.
constexpr uint64_t longest_name = 16384;

std::string_view text_at(Bytes strings, uint64_t offset) {
  if (offset >= strings.size()) return {};
  const char* first = reinterpret_cast<const char*>(strings.data() + offset);
  return {first, strnlen(first, std::min<uint64_t>(strings.size() - offset, longest_name))};
}

}  // namespace

const ElfSection* ElfFile::find(std::string_view name) const {
  const auto at = places.find(name);
  return at == places.end() ? nullptr : &sections[at->second];
}

std::string_view ElfFile::symbol_name(uint64_t number) const {
  const ElfSection* symbols = find(".symtab");
  const ElfSection* strings = find(".strtab");
  if (symbols == nullptr || strings == nullptr || number >= symbols->bytes.size() / sizeof(elf_layout::Symbol))
    return {};
  const auto symbol = value_at<elf_layout::Symbol>(symbols->bytes, number * sizeof(elf_layout::Symbol));
  return text_at(strings->bytes, symbol.st_name);
}

Result<ElfFile> read_elf(Bytes file) {
  if (!has(file, 0, sizeof(elf_layout::FileHeader))) return corrupt("no ELF file: too short");
  const auto header = value_at<elf_layout::FileHeader>(file, 0);
  if (std::memcmp(header.e_ident, elf_layout::magic, sizeof elf_layout::magic) != 0) {
    return corrupt("no ELF file: wrong first bytes");
  }
  if (header.e_ident[elf_layout::place_of_class] != elf_layout::class_64 ||
      header.e_ident[elf_layout::place_of_data] != elf_layout::data_little_endian) {
    return corrupt("ELF file: neither 64-bit nor little-endian");
  }
  const uint64_t table_size = uint64_t{header.e_shnum} * sizeof(elf_layout::SectionHeader);
  if (header.e_shentsize != sizeof(elf_layout::SectionHeader) || !has(file, header.e_shoff, table_size) ||
      header.e_shstrndx >= header.e_shnum) {
    return corrupt("ELF file: the section table lies outside the file");
  }
  ElfFile elf{.machine = header.e_machine,
              .abi_version = header.e_ident[elf_layout::place_of_abi_version],
              .flags = header.e_flags,
              .sections = {},
              .places = {}};
  std::vector<elf_layout::SectionHeader> table(header.e_shnum);
  std::memcpy(table.data(), file.data() + header.e_shoff, table_size);
  for (const elf_layout::SectionHeader& section : table) {
    if (section.sh_type != elf_layout::section_without_bytes && !has(file, section.sh_offset, section.sh_size)) {
      return corrupt("ELF file: a section lies outside the file");
    }
    const bool in_file =
        section.sh_type != elf_layout::section_without_bytes && section.sh_type != elf_layout::section_null;
    elf.sections.push_back({.name = {},
                            .type = section.sh_type,
                            .size = section.sh_size,
                            .bytes = in_file ? file.subspan(section.sh_offset, section.sh_size) : Bytes()});
  }
  const Bytes names = elf.sections[header.e_shstrndx].bytes;
  for (size_t i = 0; i < table.size(); ++i) {
    elf.sections[i].name = text_at(names, table[i].sh_name);
    elf.places.try_emplace(elf.sections[i].name, i);
  }
  return elf;
}

namespace {

std::vector<std::string_view> symbols_that_are(bool undefined, const ElfFile& elf) {
  std::vector<std::string_view> names;
  const ElfSection* symbols = elf.find(".dynsym");
  const ElfSection* strings = elf.find(".dynstr");
  if (symbols == nullptr || strings == nullptr) return names;
  for (uint64_t at = sizeof(elf_layout::Symbol); has(symbols->bytes, at, sizeof(elf_layout::Symbol));
       at += sizeof(elf_layout::Symbol)) {
    const auto symbol = value_at<elf_layout::Symbol>(symbols->bytes, at);
    const bool is_undefined = symbol.st_shndx == elf_layout::undefined_section;
    if (is_undefined == undefined) names.push_back(text_at(strings->bytes, symbol.st_name));
  }
  return names;
}

}  // namespace

std::vector<std::string_view> undefined_symbols(const ElfFile& elf) {
  return symbols_that_are(true, elf);
}

std::vector<std::string_view> defined_symbols(const ElfFile& elf) {
  return symbols_that_are(false, elf);
}

}  // namespace pianola::kernel_build
