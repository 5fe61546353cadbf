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

constexpr size_t hash_digits = 32;

std::string hash_of(std::string_view text) {
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
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
  std::string all = "layout 2\n" + versions_;  // of what keep() writes: others share the folder
  for (const std::string& option : options) all += fmt::format("{}:{}\n", option.size(), option);
  all += text;
  return fmt::format("{}/{}", folder_, hash_of(all));
}

// A kept result is the hash of the bytes in 32 digits, and the bytes.
std::optional<std::vector<std::byte>> Cache::find(std::span<const std::string> options, std::string_view text) const {
  if (!is_on()) return std::nullopt;
  const auto kept = read_text(key(options, text));
  if (!kept || kept->size() <= hash_digits) return std::nullopt;
  const std::string_view payload = std::string_view(*kept).substr(hash_digits);
  if (hash_of(payload) != kept->substr(0, hash_digits)) return std::nullopt;
  const auto bytes = std::as_bytes(std::span(payload));
  return std::vector<std::byte>(bytes.begin(), bytes.end());
}

void Cache::keep(std::span<const std::string> options, std::string_view text, std::span<const std::byte> bytes) const {
  if (!is_on()) return;
  const std::string_view payload(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::string kept = hash_of(payload) + std::string(payload);
  // A full disk costs the next build its time, not this one its success.
  static_cast<void>(write_bytes(key(options, text), std::as_bytes(std::span(kept))));
}

}  // namespace pianola::kernel_build
