// SPDX-License-Identifier: Apache-2.0
// SPIR-V: what the decorations of a compute module say (SPIR-V specification, "Binary Form" and "Instructions").
// A storage buffer with the name of the constant block is that block: base/spirv_constants.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "base/spirv_constants.hpp"
#include "kernel_build/reflect.hpp"

namespace pianola::kernel_build {
namespace {

using Words = std::span<const uint32_t>;

enum Instruction : uint32_t {
  op_name = 5,
  op_entry_point = 15,
  op_execution_mode = 16,
  op_type_int = 21,
  op_type_float = 22,
  op_type_vector = 23,
  op_type_array = 28,
  op_type_runtime_array = 29,
  op_type_struct = 30,
  op_type_pointer = 32,
  op_constant = 43,
  op_variable = 59,
  op_decorate = 71,
  op_member_decorate = 72,
};

enum Decoration : uint32_t {
  array_stride = 6,
  non_writable = 24,
  non_readable = 25,
  binding_number = 33,
  descriptor_set = 34,
  member_offset = 35,
};

enum StorageClass : uint32_t { uniform = 2, workgroup_memory = 4, push_constant = 9, storage_buffer = 12 };

constexpr uint32_t compute_model = 5;
constexpr uint32_t local_size = 17;

struct Type {
  uint32_t op = 0;
  std::vector<uint32_t> operands;
};

struct Variable {
  uint32_t pointer_type = 0;
  uint32_t id = 0;
  uint32_t storage = 0;
};

struct Module {
  std::map<uint32_t, std::map<uint32_t, uint32_t>> decorations;                             // id, decoration
  std::map<uint32_t, std::map<uint32_t, std::map<uint32_t, uint32_t>>> member_decorations;  // id, member, decoration
  std::map<uint32_t, Type> types;
  std::map<uint32_t, uint32_t> sizes;  // of types
  std::map<uint32_t, uint32_t> constants;
  std::map<uint32_t, std::string> names;
  std::vector<Variable> variables;
  uint32_t pushed_bytes = 0;
  Reflection reflection;
  bool has_entry = false;
};

std::string text_of(Words words) {
  const char* first = reinterpret_cast<const char*>(words.data());
  return {first, strnlen(first, words.size_bytes())};
}

/// Bytes of a type whose parts are known already, as SPIR-V lists them; a struct ends where its last member does.
uint64_t size_of(const Module& module, uint32_t id, const Type& type) {
  const auto size_at = [&](size_t i) -> uint64_t {
    const auto found = module.sizes.find(i < type.operands.size() ? type.operands[i] : 0);
    return found == module.sizes.end() ? 0 : found->second;
  };
  // From one element of an array to the next, with what fills them up.
  const auto element_size = [&]() -> uint64_t {
    const auto own = module.decorations.find(id);
    const bool has_stride = own != module.decorations.end() && own->second.contains(array_stride);
    return has_stride ? own->second.at(array_stride) : size_at(0);
  };
  switch (type.op) {
    case op_type_int:
    case op_type_float: return type.operands.empty() ? 0 : type.operands[0] / 8;
    case op_type_vector: return type.operands.size() < 2 ? 0 : size_at(0) * type.operands[1];
    case op_type_array: {
      const auto count = module.constants.find(type.operands.size() < 2 ? 0 : type.operands[1]);
      return count == module.constants.end() ? 0 : element_size() * count->second;
    }
    case op_type_runtime_array: return element_size();
    case op_type_struct: {
      uint64_t end = 0;
      const auto members = module.member_decorations.find(id);
      for (uint32_t i = 0; i < type.operands.size(); ++i) {
        uint64_t offset = 0;
        if (members != module.member_decorations.end() && members->second.contains(i) &&
            members->second.at(i).contains(member_offset)) {
          offset = members->second.at(i).at(member_offset);
        }
        end = std::max(end, offset + size_at(i));
      }
      return end;
    }
    default: return 0;
  }
}

/// Sizes are 32 bits wide; a damaged file may tell more.
uint32_t clamped(uint64_t size) {
  return static_cast<uint32_t>(std::min<uint64_t>(size, UINT32_MAX));
}

void read_instruction(uint32_t op, Words operands, Module& module) {
  const auto at = [&](size_t i) { return i < operands.size() ? operands[i] : 0; };
  switch (op) {
    case op_entry_point:
      if (at(0) != compute_model || operands.size() < 3) return;
      module.has_entry = true;
      module.reflection.symbol = text_of(operands.subspan(2));
      return;
    case op_execution_mode:
      if (at(1) == local_size) module.reflection.workgroup = {at(2), at(3), at(4)};
      return;
    case op_name:
      if (operands.size() > 1) module.names[at(0)] = text_of(operands.subspan(1));
      return;
    case op_decorate: module.decorations[at(0)][at(1)] = at(2); return;
    case op_member_decorate: module.member_decorations[at(0)][at(1)][at(2)] = at(3); return;
    case op_constant: module.constants[at(1)] = at(2); return;
    case op_variable: module.variables.push_back({at(0), at(1), at(2)}); return;
    case op_type_int:
    case op_type_float:
    case op_type_vector:
    case op_type_array:
    case op_type_runtime_array:
    case op_type_struct:
    case op_type_pointer:
      if (operands.empty()) return;
      module.types[at(0)] = {.op = op, .operands = {operands.begin() + 1, operands.end()}};
      module.sizes[at(0)] = clamped(size_of(module, at(0), module.types[at(0)]));
      return;
    default: return;
  }
}

Access access_of(const Module& module, uint32_t variable, uint32_t type) {
  const auto has = [&](uint32_t decoration) {
    const auto own = module.decorations.find(variable);
    if (own != module.decorations.end() && own->second.contains(decoration)) return true;
    const auto members = module.member_decorations.find(type);
    return members != module.member_decorations.end() && members->second.contains(0) &&
           members->second.at(0).contains(decoration);
  };
  if (has(non_writable)) return Access::in;
  return has(non_readable) ? Access::out : Access::inout;
}

void add_variable(Module& module, const Variable& variable) {
  const auto pointer = module.types.find(variable.pointer_type);
  if (pointer == module.types.end() || pointer->second.operands.size() < 2) return;
  const uint32_t type = pointer->second.operands[1];
  const uint32_t size = module.sizes[type];
  Reflection& reflection = module.reflection;
  if (variable.storage == push_constant) {
    reflection.constant_bytes = module.pushed_bytes = size;
  } else if (variable.storage == workgroup_memory) {
    reflection.shared_bytes = clamped(uint64_t{reflection.shared_bytes.value_or(0)} + size);
  } else if (variable.storage == storage_buffer || variable.storage == uniform) {
    auto& decorations = module.decorations[variable.id];
    if (const auto name = module.names.find(type); name != module.names.end() && name->second == constants_block) {
      reflection.constants_buffer = {.set = decorations[descriptor_set], .binding = decorations[binding_number]};
      reflection.constant_bytes = size;
      return;
    }
    reflection.bindings->push_back({.set = decorations[descriptor_set],
                                    .binding = decorations[binding_number],
                                    .access = access_of(module, variable.id, type),
                                    .element_size = size == 0 ? std::nullopt : std::optional(size)});
  }
}

/// Whoever binds the module knows the size of its constants only, and derives from it where they go.
Result<> check_constants(const Module& module) {
  const auto unsupported = [](std::string message) {
    return Error{.code = Errc::unsupported, .message = std::move(message)};
  };
  if (module.pushed_bytes > most_push_constant_bytes) {
    return unsupported(fmt::format("{} bytes of push constants; a block over {} is a storage buffer '{}'",
                                   module.pushed_bytes, most_push_constant_bytes, constants_block));
  }
  if (!module.reflection.constants_buffer) return {};
  if (*module.reflection.constant_bytes <= most_push_constant_bytes) {
    return unsupported(fmt::format("the buffer '{}' has {} bytes; a block up to {} is push constants", constants_block,
                                   *module.reflection.constant_bytes, most_push_constant_bytes));
  }
  for (const NumberedBinding& each : *module.reflection.bindings) {
    if (DescriptorPlace{.set = each.set, .binding = each.binding} < *module.reflection.constants_buffer) continue;
    return unsupported(fmt::format("the buffer '{}' is ({}, {}), not behind the last binding ({}, {})", constants_block,
                                   module.reflection.constants_buffer->set, module.reflection.constants_buffer->binding,
                                   each.set, each.binding));
  }
  return {};
}

}  // namespace

Result<std::vector<Reflection>> reflect_spirv(std::span<const std::byte> bytes) {
  constexpr uint32_t magic = 0x07230203;
  constexpr size_t header_words = 5;
  std::vector<uint32_t> storage(bytes.size() / 4);
  if (!storage.empty()) std::memcpy(storage.data(), bytes.data(), storage.size() * 4);
  if (bytes.size() % 4 != 0 || storage.size() < header_words || storage[0] != magic) {
    return Error{.code = Errc::corrupt, .message = "this is no SPIR-V: wrong size or first word"};
  }
  Module module;
  module.reflection.bindings.emplace();
  module.reflection.constant_bytes = 0;
  module.reflection.shared_bytes = 0;
  for (Words rest = Words(storage).subspan(header_words); !rest.empty();) {
    const uint32_t count = rest[0] >> 16U;
    if (count == 0 || count > rest.size()) {
      return Error{.code = Errc::corrupt, .message = "this SPIR-V is cut short inside an instruction"};
    }
    read_instruction(rest[0] & 0xffffU, rest.subspan(1, count - 1), module);
    rest = rest.subspan(count);
  }
  if (!module.has_entry) return Error{.code = Errc::corrupt, .message = "this SPIR-V has no compute entry"};
  for (const Variable& variable : module.variables) add_variable(module, variable);
  if (auto ok = check_constants(module); !ok) return ok.error();
  std::ranges::sort(*module.reflection.bindings, {},
                    [](const NumberedBinding& each) { return std::pair(each.set, each.binding); });
  return std::vector<Reflection>{module.reflection};
}

}  // namespace pianola::kernel_build
