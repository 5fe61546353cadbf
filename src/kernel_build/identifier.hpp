// SPDX-License-Identifier: Apache-2.0
// What names are made of in C and all that descends from it.
#pragma once

namespace pianola::kernel_build {

/// A letter, a digit or an underscore.
constexpr bool is_of_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

}  // namespace pianola::kernel_build
