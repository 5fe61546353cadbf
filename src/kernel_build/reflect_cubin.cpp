// SPDX-License-Identifier: Apache-2.0
// CUDA binaries: the attributes in the sections .nv.info.KERNEL. Their numbers are those that `cuobjdump -elf` names;
// the format is not published, so an unknown attribute is passed over.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "kernel_build/architecture.hpp"
#include "kernel_build/elf.hpp"
#include "kernel_build/reflect.hpp"

namespace pianola::kernel_build {
namespace {

using Bytes = std::span<const std::byte>;

template <class T>
T value_at(Bytes bytes, size_t offset) {
  T value{};
  if (offset + sizeof(T) <= bytes.size()) std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

/// What nvFatbinary files begin with: cubins for several architectures, compressed; nothing is read from them.
constexpr uint32_t fat_binary = 0xba55ed50;
/// From sm_90 on a kernel's shared section begins with what the system reserves.
constexpr uint64_t reserved_shared = 1024;
constexpr uint32_t first_with_reserved = 90;

constexpr uint8_t format_with_size = 4;
constexpr uint8_t max_threads = 0x05;
constexpr uint8_t required_threads = 0x10;
constexpr uint8_t parameter_info = 0x17;
constexpr uint8_t register_count = 0x2f;  // in .nv.info, with the number of a symbol

void read_attribute(uint8_t attribute, Bytes value, Reflection& reflection) {
  if (attribute == parameter_info && value.size() >= 12) {
    const auto packed = value_at<uint32_t>(value, 8);
    reflection.parameters->push_back({.offset = value_at<uint16_t>(value, 6),
                                      .size = (packed >> 18U) & 0x3fffU,
                                      .is_buffer = std::nullopt,
                                      .access = std::nullopt});
  } else if ((attribute == max_threads || attribute == required_threads) && value.size() >= 12) {
    const std::array<uint32_t, 3> sides = {value_at<uint32_t>(value, 0), value_at<uint32_t>(value, 4),
                                           value_at<uint32_t>(value, 8)};
    reflection.threads = sides[0] * sides[1] * sides[2];
    if (attribute == required_threads) reflection.workgroup = sides;
  }
}

/// Calls read(attribute, value) for each attribute with a size.
template <class Read>
void for_each_attribute(Bytes bytes, const Read& read) {
  while (bytes.size() >= 4) {
    const auto format = value_at<uint8_t>(bytes, 0);
    const auto attribute = value_at<uint8_t>(bytes, 1);
    const auto size = value_at<uint16_t>(bytes, 2);
    bytes = bytes.subspan(4);
    if (format != format_with_size) continue;
    if (size > bytes.size()) return;
    read(attribute, bytes.first(size));
    bytes = bytes.subspan(size);
  }
}

/// Registers of a thread, by the kernels' names.
std::map<std::string_view, uint32_t> registers_of(const ElfFile& elf) {
  std::map<std::string_view, uint32_t> registers;
  const ElfSection* section = elf.find(".nv.info");
  if (section == nullptr) return registers;
  for_each_attribute(section->bytes, [&](uint8_t attribute, Bytes value) {
    if (attribute != register_count || value.size() < 8) return;
    registers[elf.symbol_name(value_at<uint32_t>(value, 0))] = value_at<uint32_t>(value, 4);
  });
  return registers;
}

uint32_t shared_bytes(const ElfFile& elf, const std::string& symbol) {
  const ElfSection* section = elf.find(".nv.shared." + symbol);
  if (section == nullptr) return 0;
  const uint64_t reserved = cubin_generation(elf) >= first_with_reserved ? reserved_shared : 0;
  return static_cast<uint32_t>(std::min<uint64_t>(section->size - std::min(section->size, reserved), UINT32_MAX));
}

}  // namespace

Result<std::vector<Reflection>> reflect_cubin(Bytes bytes) {
  if (value_at<uint32_t>(bytes, 0) == fat_binary) return std::vector<Reflection>();
  const auto elf = read_elf(bytes);
  if (!elf) return elf.error();
  if (elf->machine != elf_machine_cuda) {
    return Error{.code = Errc::corrupt, .message = fmt::format("CUDA binary: it is for machine {}", elf->machine)};
  }
  constexpr std::string_view prefix = ".nv.info.";
  const auto registers = registers_of(*elf);
  std::vector<Reflection> all;
  for (const ElfSection& section : elf->sections) {
    if (!section.name.starts_with(prefix)) continue;
    Reflection reflection{.symbol = std::string(section.name.substr(prefix.size()))};
    reflection.parameters.emplace();
    for_each_attribute(section.bytes,
                       [&](uint8_t attribute, Bytes value) { read_attribute(attribute, value, reflection); });
    if (const auto at = registers.find(reflection.symbol); at != registers.end()) reflection.registers = at->second;
    std::ranges::sort(*reflection.parameters, {}, &Parameter::offset);
    for (Parameter& parameter : *reflection.parameters) {
      if (parameter.size != 8) parameter.is_buffer = false;
    }
    reflection.shared_bytes = shared_bytes(*elf, reflection.symbol);
    all.push_back(std::move(reflection));
  }
  if (all.empty()) return Error{.code = Errc::corrupt, .message = "CUDA binary: it holds no kernel"};
  return all;
}

}  // namespace pianola::kernel_build
