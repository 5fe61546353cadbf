// SPDX-License-Identifier: Apache-2.0
// Keeps what compilers made, by the content they made it from.
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
/// written is compiled again.
class Cache {
 public:
  /// Results also depend on the compilers; their versions are asked for once.
  static Cache open(const std::string& folder, const Compilers& compilers);

  bool is_on() const { return !folder_.empty(); }
  /// The name of the result for these parts: options, and the text that the compiler would read.
  std::string key(std::span<const std::string> options, std::string_view text) const;
  std::optional<std::vector<std::byte>> find(const std::string& key) const;
  void keep(const std::string& key, std::span<const std::byte> bytes) const;

 private:
  std::string folder_;
  std::string versions_;
};

}  // namespace pianola::kernel_build
