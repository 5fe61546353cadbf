// SPDX-License-Identifier: Apache-2.0
// SPIR-V specification, "Binary Form" and "Arithmetic Instructions"; Vulkan's "Precision and Operation of SPIR-V
// Instructions" for negative operands.
#include "kernel_build/spirv_remainder.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace pianola::kernel_build {
namespace {

constexpr size_t header_words = 5;
constexpr size_t bound_at = 3;  // all ids are below it

enum Instruction : uint32_t { op_isub = 130, op_imul = 132, op_sdiv = 135, op_smod = 139 };

void add(std::vector<uint32_t>& words, Instruction op, uint32_t type, uint32_t result, uint32_t a, uint32_t b) {
  constexpr uint32_t count = 5;
  words.insert(words.end(), {count << 16U | op, type, result, a, b});
}

}  // namespace

std::vector<std::byte> with_cpp_remainders(std::span<const std::byte> module) {
  std::vector<uint32_t> words(module.size() / 4);
  if (!words.empty()) std::memcpy(words.data(), module.data(), words.size() * 4);
  std::vector<uint32_t> result(words.begin(), words.begin() + std::min(words.size(), header_words));
  for (size_t at = header_words; at < words.size();) {
    const size_t count = words[at] >> 16U;
    if (count == 0 || count > words.size() - at) return {module.begin(), module.end()};
    if ((words[at] & 0xffffU) == op_smod && count == 5) {
      const uint32_t quotient = result[bound_at]++;
      const uint32_t multiple = result[bound_at]++;
      const uint32_t type = words[at + 1], a = words[at + 3], b = words[at + 4];
      add(result, op_sdiv, type, quotient, a, b);
      add(result, op_imul, type, multiple, quotient, b);
      add(result, op_isub, type, words[at + 2], a, multiple);
    } else {
      result.insert(result.end(), &words[at], &words[at] + count);
    }
    at += count;
  }
  const auto bytes = std::as_bytes(std::span(result));
  return {bytes.begin(), bytes.end()};
}

}  // namespace pianola::kernel_build
