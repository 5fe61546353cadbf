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

std::string hash_of(std::string_view text) {
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string hash_of_file(const std::string& path) {
  const auto text = read_text(path);
  return text ? hash_of(*text) : "missing";
}

/// A dependency as it is called in any folder: "s" the source, "2/name" below the third include folder, "=/path".
std::string to_portable(const std::string& path, const CacheInput& input) {
  if (path == input.source) return "s";
  for (size_t i = 0; i < input.include_dirs.size(); ++i) {
    const std::string prefix = input.include_dirs[i] + "/";
    if (path.starts_with(prefix)) return fmt::format("{}/{}", i, path.substr(prefix.size()));
  }
  return "=" + path;
}

std::string from_portable(const std::string& name, const CacheInput& input) {
  if (name == "s") return std::string(input.source);
  if (name.starts_with("=")) return name.substr(1);
  const size_t slash = name.find('/');
  const size_t index = std::strtoul(name.c_str(), nullptr, 10);
  if (slash == std::string::npos || index >= input.include_dirs.size()) return {};
  return input.include_dirs[index] + name.substr(slash);
}

/// Takes one line off the front.
std::string take_line(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  std::string line(text.substr(0, end));
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
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
  return fmt::format("{}/{}", folder_, hash_of(all));
}

// A kept result is a text, a line for each dependency's hash and name, an empty line, and the bytes.
std::optional<CacheResult> Cache::find(const CacheInput& input) const {
  if (!is_on()) return std::nullopt;
  const auto source = read_text(std::string(input.source));
  if (!source) return std::nullopt;
  const auto kept = read_text(key(input.options, *source));
  if (!kept) return std::nullopt;
  std::string_view rest = *kept;
  CacheResult result;
  for (std::string line = take_line(rest); !line.empty(); line = take_line(rest)) {
    const size_t space = line.find(' ');
    if (space == std::string::npos) return std::nullopt;
    std::string path = from_portable(line.substr(space + 1), input);
    if (hash_of_file(path) != line.substr(0, space)) return std::nullopt;
    result.dependencies.push_back(std::move(path));
  }
  const auto bytes = std::as_bytes(std::span(rest));
  if (bytes.empty()) return std::nullopt;
  result.bytes.assign(bytes.begin(), bytes.end());
  return result;
}

void Cache::keep(const CacheInput& input, const CacheResult& result) const {
  const auto source = read_text(std::string(input.source));
  if (!is_on() || !source) return;
  std::string text;
  for (const std::string& path : result.dependencies) {
    text += fmt::format("{} {}\n", hash_of_file(path), to_portable(path, input));
  }
  text += '\n';
  text.append(reinterpret_cast<const char*>(result.bytes.data()), result.bytes.size());
  // A full disk costs the next build its time, not this one its success.
  static_cast<void>(write_bytes(key(input.options, *source), std::as_bytes(std::span(text))));
}

std::optional<std::vector<std::byte>> Cache::find_text(std::span<const std::string> options,
                                                       std::string_view text) const {
  if (!is_on()) return std::nullopt;
  auto bytes = read_bytes(key(options, text));
  if (!bytes || bytes->empty()) return std::nullopt;
  return std::move(*bytes);
}

void Cache::keep_text(std::span<const std::string> options, std::string_view text,
                      std::span<const std::byte> bytes) const {
  if (is_on()) static_cast<void>(write_bytes(key(options, text), bytes));
}

}  // namespace pianola::kernel_build
