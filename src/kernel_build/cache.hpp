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

/// What one compilation is made from. Results are found in other folders too: files in an include folder count by
/// their name below it, the source by its content alone.
struct CacheInput {
  std::span<const std::string> options;
  std::string_view source;  ///< its path
  std::span<const std::string> include_dirs;
};

struct CacheResult {
  std::vector<std::byte> bytes;
  std::vector<std::string> dependencies;
};

/// A folder of results. With an empty folder name nothing is ever found or kept. Never fails: what cannot be read or
/// written is compiled again.
class Cache {
 public:
  /// Results also depend on the compilers; their versions are asked for once.
  static Cache open(const std::string& folder, const Compilers& compilers);

  bool is_on() const { return !folder_.empty(); }

  /// Found only if every file that the result was made from has the content it had then.
  std::optional<CacheResult> find(const CacheInput& input) const;
  void keep(const CacheInput& input, const CacheResult& result) const;

  /// Results that depend on a text alone.
  std::optional<std::vector<std::byte>> find_text(std::span<const std::string> options, std::string_view text) const;
  void keep_text(std::span<const std::string> options, std::string_view text, std::span<const std::byte> bytes) const;

 private:
  std::string key(std::span<const std::string> options, std::string_view text) const;

  std::string folder_;
  std::string versions_;
};

}  // namespace pianola::kernel_build
