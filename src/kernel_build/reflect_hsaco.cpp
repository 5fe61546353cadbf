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

/// What one value of MessagePack is made of behind its first byte (its specification, "Overview").
struct Shape {
  size_t length_size = 0;  ///< bytes that hold `payload` or `items`
  uint64_t payload = 0;    ///< bytes
  uint64_t items = 0;      ///< values inside
  bool holds_items = false;
  uint32_t items_per_entry = 1;
};

Shape shape_of(uint8_t first) {
  if (first >= 0x80 && first <= 0x8f) return {.items = 2U * (first & 15U), .holds_items = true};
  if (first >= 0x90 && first <= 0x9f) return {.items = first & 15U, .holds_items = true};
  if (first >= 0xa0 && first <= 0xbf) return {.payload = first & 31U};
  if (first >= 0xc4 && first <= 0xc6) return {.length_size = size_t{1} << (first - 0xc4U)};
  if (first >= 0xc7 && first <= 0xc9) return {.length_size = size_t{1} << (first - 0xc7U), .payload = 1};
  if (first >= 0xca && first <= 0xcb) return {.payload = uint64_t{4} << (first - 0xcaU)};
  if (first >= 0xcc && first <= 0xcf) return {.payload = uint64_t{1} << (first - 0xccU)};
  if (first >= 0xd0 && first <= 0xd3) return {.payload = uint64_t{1} << (first - 0xd0U)};
  if (first >= 0xd4 && first <= 0xd8) return {.payload = 1 + (uint64_t{1} << (first - 0xd4U))};
  if (first >= 0xd9 && first <= 0xdb) return {.length_size = size_t{1} << (first - 0xd9U)};
  if (first >= 0xdc && first <= 0xdd) return {.length_size = size_t{2} << (first - 0xdcU), .holds_items = true};
  if (first >= 0xde && first <= 0xdf) {
    return {.length_size = size_t{2} << (first - 0xdeU), .holds_items = true, .items_per_entry = 2};
  }
  return {};
}

/// Whether values lie in each other no deeper than in any metadata: the JSON library calls itself for each level.
bool is_shallow(Bytes bytes) {
  constexpr size_t deepest = 32;
  std::vector<uint64_t> open;  // values that each container still lacks
  size_t at = 0;
  do {
    if (at >= bytes.size()) return false;
    Shape shape = shape_of(std::to_integer<uint8_t>(bytes[at++]));
    if (shape.length_size > bytes.size() - at) return false;
    uint64_t length = 0;
    for (size_t i = 0; i < shape.length_size; ++i) length = length << 8U | std::to_integer<uint64_t>(bytes[at++]);
    (shape.holds_items ? shape.items : shape.payload) += length * shape.items_per_entry;
    if (shape.payload > bytes.size() - at) return false;
    at += shape.payload;
    if (shape.items > 0) {
      open.push_back(shape.items);
      if (open.size() > deepest) return false;
    } else {
      while (!open.empty() && --open.back() == 0) open.pop_back();
    }
  } while (!open.empty());
  return true;
}

std::optional<uint32_t> number(const Json& map, const char* key) {
  const auto at = map.find(key);
  if (at == map.end() || !at->is_number_unsigned() || at->get<uint64_t>() > UINT32_MAX) return std::nullopt;
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
  if (!is_shallow(metadata)) return corrupt("its metadata is damaged");
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
