// SPDX-License-Identifier: Apache-2.0
// What a compiled file itself says about its kernels. Each format tells something else; what it does not tell is empty.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/spirv_constants.hpp"
#include "pianola/error.hpp"
#include "pianola/kernel_library.hpp"

namespace pianola::kernel_build {

/// One parameter of a kernel that takes a flat block of them.
struct Parameter {
  uint32_t offset = 0;
  uint32_t size = 0;
  std::optional<bool> is_buffer;
  std::optional<Access> access;  ///< of buffers
};

/// One binding of a kernel whose bindings are numbered.
struct NumberedBinding {
  uint32_t set = 0;
  uint32_t binding = 0;
  std::optional<Access> access;
  std::optional<uint32_t> element_size;
};

struct Reflection {
  std::string symbol;
  std::optional<std::vector<Parameter>> parameters;
  std::optional<std::vector<NumberedBinding>> bindings;
  std::optional<uint32_t> constant_bytes;
  std::optional<std::array<uint32_t, 3>> workgroup;
  std::optional<uint32_t> threads;                  ///< product of the workgroup's sides
  std::optional<uint32_t> shared_bytes;             ///< static
  std::optional<DescriptorPlace> constants_buffer;  ///< where SPIR-V has one
  bool takes_dynamic_shared = false;                ///< it is known that some is used
  std::optional<uint32_t> registers;
  std::optional<uint32_t> scalar_registers;
  std::optional<uint32_t> spilled_bytes;
  std::optional<KernelInfo> record;  ///< of host objects of the dialect, which tell everything
};

/// Of several with one name the first.
std::unordered_map<std::string_view, const Reflection*> reflections_by_symbol(std::span<const Reflection> all);

/// The decimal number that the text begins with; 0 if there is none, or one of over 32 bits.
uint32_t number_of(std::string_view text);

/// Whether MSL that the dialect did not write may hold a function of that name: it does as a word, or its text pastes
/// words or includes files.
bool may_hold(std::string_view msl, std::string_view name);

/// Kernels in the order of the file; none for those that say nothing (metallib, Mach-O, MSL that the dialect did not
/// write).
/// Errors: corrupt (the file is not what `format` says).
Result<std::vector<Reflection>> reflect(ObjectFormat format, std::span<const std::byte> bytes);

// One a format.
Result<std::vector<Reflection>> reflect_host(std::span<const std::byte> bytes);
Result<std::vector<Reflection>> reflect_ptx(std::span<const std::byte> bytes);
Result<std::vector<Reflection>> reflect_cubin(std::span<const std::byte> bytes);
Result<std::vector<Reflection>> reflect_hsaco(std::span<const std::byte> bytes);
Result<std::vector<Reflection>> reflect_spirv(std::span<const std::byte> bytes);
Result<std::vector<Reflection>> reflect_msl(std::span<const std::byte> bytes);

}  // namespace pianola::kernel_build
