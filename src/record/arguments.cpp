// SPDX-License-Identifier: Apache-2.0
// The constant block of a dispatch, packed as C lays out a struct of the same values.
#include "pianola/arguments.hpp"

namespace pianola {

Constants::Constants(std::initializer_list<Value> values) {
  for (const Value& value : values) {
    const size_t offset = (bytes_.size() + value.alignment - 1) / value.alignment * value.alignment;
    bytes_.resize(offset + value.size);
    if (value.is_constant) {
      named_.push_back({value.constant, static_cast<uint32_t>(offset)});
    } else {
      std::memcpy(bytes_.data() + offset, value.bytes.data(), value.size);
    }
  }
}

Constants Constants::from_bytes(std::span<const std::byte> bytes) {
  Constants constants;
  constants.bytes_.assign(bytes.begin(), bytes.end());
  return constants;
}

}  // namespace pianola
