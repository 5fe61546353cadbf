// SPDX-License-Identifier: Apache-2.0
// AMD code objects: the metadata note, which is MessagePack (LLVM's "User Guide for AMDGPU Backend", "Code Object V3
// Metadata" and its later versions). The only source of this library that includes the JSON library for it.
#include <fmt/format.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "kernel_build/elf.hpp"
#include "kernel_build/reflect.hpp"

namespace pianola::kernel_build {
namespace {

using Bytes = std::span<const std::byte>;
using Json = nlohmann::json;

Error corrupt(std::string_view what) {
  return {.code = Errc::corrupt, .message = fmt::format("AMD code object: {}", what)};
}

/// The descriptor of the note of type NT_AMDGPU_METADATA, or nothing.
Bytes find_metadata(const ElfFile& elf) {
  constexpr uint32_t note_section = 7;
  constexpr uint32_t metadata = 32;
  const auto padded = [](uint64_t size) { return (size + 3) / 4 * 4; };
  for (const ElfSection& section : elf.sections) {
    if (section.type != note_section) continue;
    Bytes rest = section.bytes;
    std::array<uint32_t, 3> head{};  // name size, descriptor size, type
    while (rest.size() >= sizeof(head)) {
      std::memcpy(head.data(), rest.data(), sizeof(head));
      const uint64_t start = sizeof(head) + padded(head[0]);
      if (start > rest.size() || head[1] > rest.size() - start) break;
      if (head[2] == metadata) return rest.subspan(start, head[1]);
      rest = rest.subspan(std::min<uint64_t>(rest.size(), start + padded(head[1])));
    }
  }
  return {};
}

std::optional<uint32_t> number(const Json& map, const char* key) {
  const auto at = map.find(key);
  if (at == map.end() || !at->is_number_unsigned()) return std::nullopt;
  return at->get<uint32_t>();
}

std::string text(const Json& map, const char* key) {
  const auto at = map.find(key);
  return at == map.end() || !at->is_string() ? std::string() : at->get<std::string>();
}

/// Only what the compiler states is an access; a missing one says nothing.
std::optional<Access> access_of(const std::string& name) {
  if (name == "read_only") return Access::in;
  if (name == "write_only") return Access::out;
  if (name == "read_write") return Access::inout;
  return std::nullopt;
}

Reflection reflection_of(const Json& kernel) {
  Reflection reflection{.symbol = text(kernel, ".name")};
  reflection.parameters.emplace();
  const auto arguments = kernel.find(".args");
  if (arguments != kernel.end() && arguments->is_array()) {
    for (const Json& argument : *arguments) {
      const std::string kind = text(argument, ".value_kind");
      if (kind.starts_with("hidden")) continue;
      reflection.parameters->push_back({.offset = number(argument, ".offset").value_or(0),
                                        .size = number(argument, ".size").value_or(0),
                                        .is_buffer = kind == "global_buffer",
                                        .access = access_of(text(argument, ".actual_access"))});
    }
  }
  reflection.threads = number(kernel, ".max_flat_workgroup_size");
  reflection.shared_bytes = number(kernel, ".group_segment_fixed_size");
  reflection.registers = number(kernel, ".vgpr_count");
  reflection.scalar_registers = number(kernel, ".sgpr_count");
  reflection.spilled_bytes = number(kernel, ".private_segment_fixed_size");
  return reflection;
}

}  // namespace

Result<std::vector<Reflection>> reflect_hsaco(Bytes bytes) {
  const auto elf = read_elf(bytes);
  if (!elf) return elf.error();
  if (elf->machine != elf_machine_amdgpu) return corrupt("it is for another machine");
  const Bytes metadata = find_metadata(*elf);
  if (metadata.empty()) return corrupt("it has no metadata note");
  const auto* first = reinterpret_cast<const uint8_t*>(metadata.data());
  const Json root = Json::from_msgpack(first, first + metadata.size(), true, false);
  const auto kernels = root.is_object() ? root.find("amdhsa.kernels") : root.end();
  if (root.is_discarded() || kernels == root.end() || !kernels->is_array()) return corrupt("its metadata is damaged");
  std::vector<Reflection> all;
  for (const Json& kernel : *kernels) {
    if (!kernel.is_object()) return corrupt("its metadata is damaged");
    all.push_back(reflection_of(kernel));
  }
  return all;
}

}  // namespace pianola::kernel_build
