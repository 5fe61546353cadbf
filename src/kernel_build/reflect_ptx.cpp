// SPDX-License-Identifier: Apache-2.0
// PTX text: entries, their parameters, thread limits and shared arrays (PTX ISA, "Kernel and Function Directives" and
// "State Spaces").
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <regex>

#include "kernel_build/reflect.hpp"

namespace pianola::kernel_build {
namespace {

uint32_t number_of(std::string_view digits) {
  uint32_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

/// Comments and strings would mislead the search.
std::string without_comments(std::string_view text) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    if (text.substr(at, 2) == "//") {
      at = std::min(text.find('\n', at), text.size());
    } else if (text.substr(at, 2) == "/*") {
      const size_t end = text.find("*/", at + 2);
      at = end == std::string_view::npos ? text.size() : end + 2;
    } else {
      result += text[at++];
    }
  }
  return result;
}

/// ".param .align 4 .b8 name[16]" or ".param .u64 .ptr .global name".
std::vector<Parameter> parameters_of(const std::string& list) {
  static const std::regex pattern(
      R"(\.param\s+(?:\.align\s+(\d+)\s+)?\.([a-z]+)(\d+)(\s+\.ptr[^,]*?)?\s+[\w$.]+\s*(?:\[\s*(\d+)\s*\])?\s*(?:,|$))");
  std::vector<Parameter> parameters;
  uint32_t offset = 0;
  for (std::sregex_iterator at(list.begin(), list.end(), pattern), end; at != end; ++at) {
    const std::smatch& match = *at;
    const uint32_t width = number_of(match[3].str()) / 8;
    const uint32_t size = match[5].matched ? width * number_of(match[5].str()) : width;
    const uint32_t alignment = match[1].matched ? std::max(1U, number_of(match[1].str())) : width;
    offset = (offset + alignment - 1) / alignment * alignment;
    Parameter parameter{.offset = offset, .size = size, .is_buffer = std::nullopt, .access = std::nullopt};
    if (match[4].matched) parameter.is_buffer = true;
    if (size != 8) parameter.is_buffer = false;
    parameters.push_back(parameter);
    offset += size;
  }
  return parameters;
}

/// ".maxntid 256, 1, 1": one thread limit; only .reqntid tells the sides for sure.
void read_threads(const std::string& directives, Reflection& reflection) {
  static const std::regex pattern(R"(\.(maxntid|reqntid)\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?)");
  std::smatch match;
  if (!std::regex_search(directives, match, pattern)) return;
  std::array<uint32_t, 3> sides = {1, 1, 1};
  for (size_t i = 0; i < 3; ++i) {
    if (match[i + 2].matched) sides.at(i) = number_of(match[i + 2].str());
  }
  reflection.threads = sides[0] * sides[1] * sides[2];
  if (match[1].str() == "reqntid") reflection.workgroup = sides;
}

struct SharedArray {
  std::string name;
  bool is_dynamic = false;
  uint32_t size = 0;
  size_t at = 0;
};

std::vector<SharedArray> shared_arrays(const std::string& text) {
  static const std::regex pattern(
      R"((\.extern\s+)?\.shared\s+(?:\.align\s+\d+\s+)?\.[a-z]+(\d+)\s+([\w$.]+)\s*(?:\[\s*(\d+)\s*\])?)");
  std::vector<SharedArray> arrays;
  for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at) {
    const uint32_t width = number_of((*at)[2].str()) / 8;
    const uint32_t count = (*at)[4].matched ? number_of((*at)[4].str()) : 1;
    const bool is_dynamic = (*at)[1].matched;
    arrays.push_back({.name = (*at)[3].str(),
                      .is_dynamic = is_dynamic,
                      .size = is_dynamic ? 0 : width * count,
                      .at = static_cast<size_t>(at->position())});
  }
  return arrays;
}

/// Arrays declared in the body, and those of the module that the body names.
void read_shared(const std::vector<SharedArray>& arrays, std::string_view text, size_t first, size_t last,
                 Reflection& reflection) {
  reflection.shared_bytes = 0;
  const std::string_view body = text.substr(first, last - first);
  for (const SharedArray& array : arrays) {
    const bool inside = array.at >= first && array.at < last;
    if (!inside && body.find(array.name) == std::string::npos) continue;
    *reflection.shared_bytes += array.size;
    reflection.takes_dynamic_shared |= array.is_dynamic;
  }
}

size_t end_of_body(const std::string& text, size_t open) {
  int depth = 0;
  for (size_t at = open; at < text.size(); ++at) {
    if (text[at] == '{') ++depth;
    if (text[at] == '}' && --depth == 0) return at;
  }
  return text.size();
}

}  // namespace

Result<std::vector<Reflection>> reflect_ptx(std::span<const std::byte> bytes) {
  const std::string text =
      without_comments({reinterpret_cast<const char*>(bytes.data()), bytes.empty() ? 0 : bytes.size()});
  const size_t start = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  if (text.compare(start, 8, ".version") != 0 || text.find(".target") == std::string::npos) {
    return Error{.code = Errc::corrupt, .message = "this is no PTX: it does not begin with .version and .target"};
  }
  const std::vector<SharedArray> arrays = shared_arrays(text);
  std::vector<Reflection> all;
  constexpr std::string_view entry = ".entry";
  for (size_t at = text.find(entry); at != std::string::npos; at = text.find(entry, at)) {
    const size_t name_at = text.find_first_not_of(" \t\n", at + entry.size());
    const size_t open = text.find_first_of("{(", at);
    const size_t body = text.find('{', at);
    if (name_at == std::string::npos || open == std::string::npos || body == std::string::npos) {
      return Error{.code = Errc::corrupt, .message = "this PTX is cut short inside an entry"};
    }
    Reflection reflection{.symbol = text.substr(name_at, text.find_first_of(" \t\n({", name_at) - name_at)};
    const size_t close = text[open] == '(' ? text.find(')', open) : open;
    reflection.parameters = parameters_of(text.substr(open, close - open));
    read_threads(text.substr(close, body - close), reflection);
    const size_t end = end_of_body(text, body);
    read_shared(arrays, text, body, end, reflection);
    all.push_back(std::move(reflection));
    at = end;
  }
  return all;
}

}  // namespace pianola::kernel_build
