// SPDX-License-Identifier: Apache-2.0
// PTX ISA, ".target"; "User Guide for AMDGPU Backend", "Code Object Metadata"; ELF headers of hosts; EF_CUDA_SM and
// EF_CUDA_SM_MASK of LLVM's BinaryFormat/ELF.h for cubins of both ABI versions.
#include "kernel_build/architecture.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kernel_build/elf.hpp"

namespace pianola::kernel_build {
namespace {

constexpr std::string_view digits = "0123456789";
constexpr std::string_view letters_and_digits = "abcdefghijklmnopqrstuvwxyz0123456789";

/// The first word of `letters` behind `mark`.
std::string_view word_behind(std::string_view text, std::string_view mark, std::string_view letters) {
  const size_t at = text.find(mark);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = text.substr(at + mark.size());
  return rest.substr(0, std::min(rest.find_first_not_of(letters), rest.size()));
}

std::string host_architecture(std::span<const std::byte> file) {
  const auto elf = read_elf(file);
  if (!elf) return {};
  return elf->machine == elf_machine_x86_64 ? "x86-64" : elf->machine == elf_machine_aarch64 ? "aarch64" : "";
}

/// The flags do not tell "sm_90a" from "sm_90".
std::string cubin_architecture(std::span<const std::byte> file) {
  const auto elf = read_elf(file);
  if (!elf || elf->machine != elf_machine_cuda) return {};
  return fmt::format("sm_{}", cubin_generation(*elf));
}

}  // namespace

uint32_t cubin_generation(const ElfFile& elf) {
  constexpr uint8_t second_version = 8;
  return elf.abi_version >= second_version ? elf.flags >> 8U & 0xffU : elf.flags & 0xffU;
}

std::string architecture_of(ObjectFormat format, std::span<const std::byte> file) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  switch (format) {
    case ObjectFormat::host: return host_architecture(file);
    case ObjectFormat::ptx: {
      const std::string_view number = word_behind(text, "\n.target sm_", digits);
      return number.empty() ? "" : "sm_" + std::string(number);
    }
    case ObjectFormat::cubin: return cubin_architecture(file);
    case ObjectFormat::hsaco: return std::string(word_behind(text, "amdgcn-amd-amdhsa--", letters_and_digits));
    default: return {};
  }
}

bool suits(ObjectFormat format, std::string_view found, std::string_view listed) {
  if (format == ObjectFormat::host) return listed.starts_with(found);
  const bool is_cuda = format == ObjectFormat::ptx || format == ObjectFormat::cubin;
  const size_t end = is_cuda ? listed.find_last_of(digits) + 1 : listed.find(':');
  return listed.substr(0, std::min(end, listed.size())) == found;
}

}  // namespace pianola::kernel_build
