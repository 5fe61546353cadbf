// SPDX-License-Identifier: Apache-2.0
// Keeps what compilers made, by the text they made it from.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernel_build/build.hpp"

namespace pianola::kernel_build {

/// A folder of results. With an empty folder name nothing is ever found or kept. Never fails: what cannot be read or
/// written, or is damaged, is compiled again.
class Cache {
 public:
  /// Results also depend on the compilers; their versions are asked for once.
  static Cache open(const std::string& folder, const Compilers& compilers);

  bool is_on() const { return !folder_.empty(); }

  /// What these options made of this text.
  std::optional<std::vector<std::byte>> find(std::span<const std::string> options, std::string_view text) const;
  void keep(std::span<const std::string> options, std::string_view text, std::span<const std::byte> bytes) const;

 private:
  std::string key(std::span<const std::string> options, std::string_view text) const;

  std::string folder_;
  std::string versions_;
};

}  // namespace pianola::kernel_build
