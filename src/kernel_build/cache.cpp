// SPDX-License-Identifier: Apache-2.0
#include "kernel_build/cache.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "kernel_build/files.hpp"
#include "kernel_build/process.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace pianola::kernel_build {
namespace {

std::string version_of(const std::string& program) {
  const auto result = run_process({program, "--version"});
  return result ? result->output : std::string();
}

}  // namespace

Cache Cache::open(const std::string& folder, const Compilers& compilers) {
  Cache cache;
  std::error_code code;
  if (!folder.empty()) std::filesystem::create_directories(folder, code);
  if (folder.empty() || code) return cache;
  cache.folder_ = folder;
  cache.versions_ = version_of(compilers.clang) + version_of(compilers.glslang);
  return cache;
}

std::string Cache::key(std::span<const std::string> options, std::string_view text) const {
  std::string all = versions_;
  for (const std::string& option : options) all += fmt::format("{}:{}\n", option.size(), option);
  all += text;
  const XXH128_hash_t hash = XXH3_128bits(all.data(), all.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::optional<std::vector<std::byte>> Cache::find(const std::string& key) const {
  if (!is_on()) return std::nullopt;
  auto bytes = read_bytes(folder_ + "/" + key);
  if (!bytes || bytes->empty()) return std::nullopt;
  return std::move(*bytes);
}

void Cache::keep(const std::string& key, std::span<const std::byte> bytes) const {
  // A full disk costs the next build its time, not this one its success.
  if (is_on()) static_cast<void>(write_bytes(folder_ + "/" + key, bytes));
}

}  // namespace pianola::kernel_build
