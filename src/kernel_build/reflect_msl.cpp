// SPDX-License-Identifier: Apache-2.0
// MSL: what msl_text.cpp wrote in front of each kernel. Of other texts nothing is known, since only a compiler for
// Metal could tell it.
#include <algorithm>

#include "kernel_build/identifier.hpp"
#include "kernel_build/reflect.hpp"

namespace pianola::kernel_build {
namespace {

constexpr std::string_view generated = "#define PIANOLA_BARRIER ";
constexpr uint32_t pointer_size = 8;

/// What stands between `open` and `close` behind `at`; moves `at` behind it. Empty at the text's end.
std::string_view between(std::string_view text, size_t& at, std::string_view open, std::string_view close) {
  const size_t start = std::min(text.find(open, at), text.size());
  const size_t first = std::min(start + open.size(), text.size());
  const size_t last = std::min(text.find(close, first), text.size());
  at = std::min(last + close.size(), text.size());
  return text.substr(first, last - first);
}

/// "device const float* x [[buffer(0)]]", and the same with [[id(0)]], one a line; `index` is "buffer(" or "id(".
void add_buffers(std::string_view lines, std::string_view index, std::vector<Parameter>& parameters) {
  for (size_t at = 0; at < lines.size();) {
    const std::string_view line = lines.substr(at, lines.find('\n', at) - at);
    at += line.size() + 1;
    size_t place = 0;
    if (line.find("device ") == std::string_view::npos || line.find(index) == std::string_view::npos) continue;
    const bool is_const = line.find("device const ") != std::string_view::npos;
    parameters.push_back({.offset = number_of(between(line, place, index, ")")) * pointer_size,
                          .size = pointer_size,
                          .is_buffer = true,
                          .access = is_const ? Access::in : Access::out});
  }
}

/// "  uint n;" and "  float weights[9];", one a line. All have elements of 4 bytes.
void add_constants(std::string_view lines, std::vector<Parameter>& parameters) {
  auto offset = static_cast<uint32_t>(parameters.size()) * pointer_size;
  for (size_t at = 0; at < lines.size();) {
    const std::string_view line = lines.substr(at, lines.find('\n', at) - at);
    at += line.size() + 1;
    if (line.find(';') == std::string_view::npos) continue;
    size_t place = 0;
    const uint32_t count = line.find('[') == std::string_view::npos ? 1 : number_of(between(line, place, "[", "]"));
    parameters.push_back({.offset = offset, .size = 4 * count, .is_buffer = false, .access = {}});
    offset += 4 * count;
  }
}

}  // namespace

bool may_hold(std::string_view msl, std::string_view name) {
  if (msl.find("##") != std::string_view::npos) return true;
  for (size_t at = msl.find("#"); at < msl.size(); at = msl.find("#", at + 1)) {
    std::string_view directive = msl.substr(at + 1, msl.find('\n', at) - at - 1);
    directive.remove_prefix(std::min(directive.find_first_not_of(" \t"), directive.size()));
    const bool includes = directive.starts_with("include") || directive.starts_with("import");
    if (includes && directive.find("<metal_") == std::string_view::npos) return true;
  }
  for (size_t at = msl.find(name); at < msl.size() && !name.empty(); at = msl.find(name, at + 1)) {
    const bool begins = at == 0 || !is_of_name(msl[at - 1]);
    const size_t end = at + name.size();
    if (begins && (end == msl.size() || !is_of_name(msl[end]))) return true;
  }
  return false;
}

Result<std::vector<Reflection>> reflect_msl(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::vector<Reflection> all;
  if (text.find(generated) == std::string_view::npos) return all;
  constexpr std::string_view limit = "\n[[max_total_threads_per_threadgroup(";
  size_t end = 0;  // of the kernel before
  for (size_t at = text.find(limit); at < text.size(); at = text.find(limit, at)) {
    const std::string_view front = text.substr(end, at + 1 - end);
    Reflection reflection;
    reflection.threads = number_of(between(text, at, limit, ")]]"));
    reflection.symbol = between(text, at, "kernel void ", "(");
    auto& parameters = reflection.parameters.emplace();
    const auto structure = [&](std::string_view name) {
      size_t place = 0;
      return between(front, place, "\nstruct " + std::string(name) + "_" + reflection.symbol + " {\n", "}");
    };
    add_buffers(structure("PianolaBuffers"), "id(", parameters);
    add_buffers(between(text, at, "\n", ") {"), "[[buffer(", parameters);
    add_constants(structure("PianolaConstants"), parameters);
    end = at;
    all.push_back(std::move(reflection));
  }
  return all;
}

}  // namespace pianola::kernel_build
