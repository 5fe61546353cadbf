// SPDX-License-Identifier: Apache-2.0
#include "kernel_build/dialect_layout.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

namespace pianola::kernel_build {
namespace {

constexpr uint32_t vector_size = 16;

uint32_t rounded_up(uint32_t size, uint32_t alignment) {
  return (size + alignment - 1) / alignment * alignment;
}

/// "12", "0xcu"; nothing for what is not a plain number.
std::optional<uint32_t> number_of(std::string_view text) {
  if (text.ends_with('u') || text.ends_with('U')) text.remove_suffix(1);
  const int base = text.starts_with("0x") || text.starts_with("0X") ? 16 : text.starts_with('0') ? 8 : 10;
  if (base == 16) text.remove_prefix(2);
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

Layouts::Layout Layouts::of(std::string_view type) const {
  if (const auto found = structs_.find(type); found != structs_.end()) return found->second;
  if (type == "float4" || type == "uint4") return {.size = vector_size, .alignment = vector_size, .has_vector = true};
  const uint32_t size = type == "i8" || type == "u8" ? 1 : type == "half" || type == "i16" || type == "u16" ? 2 : 4;
  return {.size = size, .alignment = size};
}

void Layouts::repeat(Layout& array, std::string_view count) {
  const auto number = number_of(count);
  if (number) {
    array.size = array.size % vector_size * (*number % vector_size);
  } else if (array.size % vector_size != 0) {
    array.is_size_known = false;
  }
}

void Layouts::add(Layout& whole, const Layout& member) {
  whole.size = rounded_up(whole.size % vector_size, std::min(member.alignment, 4U));
  const bool is_apart = !whole.is_size_known || whole.size % vector_size != 0;
  whole.differs |= member.differs || (member.has_vector && is_apart);
  whole.size += member.size;
  whole.alignment = std::max(whole.alignment, member.alignment);
  whole.has_vector |= member.has_vector;
  whole.is_size_known &= member.is_size_known;
}

void Layouts::finish(std::string_view name, Layout whole) {
  whole.size = rounded_up(whole.size % vector_size, std::min(whole.alignment, 4U)) % vector_size;
  whole.differs |= whole.has_vector && (!whole.is_size_known || whole.size != 0);
  structs_[name] = whole;
}

}  // namespace pianola::kernel_build
