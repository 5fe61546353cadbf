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

/// The first word of `letters` behind `mark`, which takes whatever blanks there are.
std::string_view word_behind(std::string_view text, std::string_view mark, std::string_view letters) {
  const size_t at = text.find(mark);
  if (at == std::string_view::npos) return {};
  std::string_view rest = text.substr(at + mark.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
  return rest.substr(0, std::min(rest.find_first_not_of(letters), rest.size()));
}

/// Takes the longest start of `letters` off the front, and tells whether it has `least` to `most` of them.
bool take(std::string_view& text, std::string_view letters, size_t least, size_t most) {
  const size_t count = std::min(text.find_first_not_of(letters), text.size());
  text.remove_prefix(count);
  return count >= least && count <= most;
}

bool take(std::string_view& text, std::string_view word) {
  const bool found = text.starts_with(word);
  if (found) text.remove_prefix(word.size());
  return found;
}

/// "gfx90a", "gfx942:sramecc+:xnack-".
bool is_amd_architecture(std::string_view name) {
  if (!take(name, "gfx") || !take(name, "0123456789abcdef", 3, 5)) return false;
  while (take(name, ":")) {
    if (!take(name, "xnack") && !take(name, "sramecc")) return false;
    if (!take(name, "+") && !take(name, "-")) return false;
  }
  return name.empty();
}

/// "sm_90", "sm_90a", "sm_100f".
bool is_cuda_architecture(std::string_view name) {
  if (!take(name, "sm_") || !take(name, digits, 2, 3)) return false;
  return name.empty() || name == "a" || name == "f";
}

/// "metal", "metal3.1", "apple8", "mac2", "air64".
bool is_metal_name(std::string_view name) {
  return take(name, "abcdefghijklmnopqrstuvwxyz", 1, 16) && (name.empty() || take(name, "0123456789._-", 1, 16)) &&
         name.empty();
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

bool is_architecture(ObjectFormat format, std::string_view name) {
  switch (format) {
    case ObjectFormat::host: return name == "x86-64" || name == "x86-64-v3" || name == "x86-64-v4" || name == "aarch64";
    case ObjectFormat::ptx:
    case ObjectFormat::cubin: return is_cuda_architecture(name);
    case ObjectFormat::hsaco: return is_amd_architecture(name);
    case ObjectFormat::spirv: return take(name, "vulkan1.") && take(name, digits, 1, 2) && name.empty();
    case ObjectFormat::msl:
    case ObjectFormat::metallib: return is_metal_name(name);
  }
  return false;
}

std::string_view architectures_of(ObjectFormat format) {
  switch (format) {
    case ObjectFormat::host: return "x86-64, x86-64-v3, x86-64-v4, aarch64";
    case ObjectFormat::ptx:
    case ObjectFormat::cubin: return "sm_NUMBER, sm_NUMBERa, sm_NUMBERf";
    case ObjectFormat::hsaco: return "gfxNUMBER with features such as :xnack+";
    case ObjectFormat::spirv: return "vulkan1.NUMBER";
    case ObjectFormat::msl:
    case ObjectFormat::metallib: return "msl, or a word and a version such as metal3.1";
  }
  return "";
}

uint32_t cubin_generation(const ElfFile& elf) {
  constexpr uint8_t second_version = 8;
  return elf.abi_version >= second_version ? elf.flags >> 8U & 0xffU : elf.flags & 0xffU;
}

std::string architecture_of(ObjectFormat format, std::span<const std::byte> file) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  switch (format) {
    case ObjectFormat::host: return host_architecture(file);
    case ObjectFormat::ptx: {
      std::string_view name = word_behind(text, "\n.target", "sm_0123456789");
      return take(name, "sm_") && !name.empty() ? "sm_" + std::string(name) : "";
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
