// SPDX-License-Identifier: Apache-2.0
// PTX text: entries, their parameters, thread limits and shared arrays (PTX ISA, "Kernel and Function Directives" and
// "State Spaces").
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "kernel_build/identifier.hpp"
#include "kernel_build/reflect.hpp"

namespace pianola::kernel_build {
namespace {

using Tokens = std::vector<std::string_view>;

bool is_name(char c) {
  return is_of_name(c) || c == '$' || c == '%';
}

/// Past a comment or a string at the start of `text`, which would mislead the reader; 0 if there is none.
size_t skipped_length(std::string_view text) {
  if (text.starts_with("//")) return std::min(text.find('\n'), text.size());
  const bool is_comment = text.starts_with("/*");
  if (!is_comment && !text.starts_with('"')) return 0;
  const size_t end = is_comment ? text.find("*/", 2) : text.find('"', 1);
  return end == std::string_view::npos ? text.size() : end + (is_comment ? 2 : 1);
}

/// Directives such as ".param", instructions and names, and single characters. A zero ends the text, as for drivers.
Tokens tokens_of(std::string_view text) {
  Tokens tokens;
  text = text.substr(0, text.find('\0'));
  for (size_t at = 0; at < text.size();) {
    if (const size_t skipped = skipped_length(text.substr(at)); skipped > 0) {
      at += skipped;
      continue;
    }
    size_t end = at + 1;
    if (text[at] == '.') {
      while (end < text.size() && is_name(text[end])) ++end;
    } else if (is_name(text[at])) {
      while (end < text.size() && (is_name(text[end]) || text[end] == '.')) ++end;
    }
    const bool is_blank = text[at] == ' ' || text[at] == '\t' || text[at] == '\r' || text[at] == '\n';
    if (!is_blank) tokens.push_back(text.substr(at, end - at));
    at = end;
  }
  return tokens;
}

uint32_t clamped(uint64_t value) {
  return static_cast<uint32_t>(std::min<uint64_t>(value, UINT32_MAX));
}

/// Bytes of a type such as ".u64"; 0 of what is none.
uint32_t width_of(std::string_view type) {
  const size_t digits = type.find_first_of("0123456789");
  const bool is_type = type.size() > 2 && type[0] == '.' && digits == 2 && type.find_first_of("ubsf") == 1;
  return is_type ? number_of(type.substr(digits)) / 8 : 0;
}

/// ".param .align 4 .b8 name[16]" or ".shared .align 4 .b8 name[16]" behind its first word.
struct Variable {
  std::string_view name;
  uint32_t width = 0;  ///< 0: it is no variable
  uint32_t alignment = 0;
  uint64_t size = 0;
  bool is_pointer = false;
};

/// Reads on at `at`, and leaves it behind the variable.
Variable read_variable(const Tokens& tokens, size_t& at) {
  Variable variable;
  for (; at < tokens.size() && tokens[at].starts_with('.'); ++at) {
    if (tokens[at] == ".param" || tokens[at] == ".shared") break;
    if (tokens[at] == ".ptr") variable.is_pointer = true;
    if (tokens[at] == ".align" && at + 1 < tokens.size()) {
      ++at;
      if (!variable.is_pointer) variable.alignment = number_of(tokens[at]);
    } else if (variable.width == 0) {
      variable.width = width_of(tokens[at]);
    }
  }
  if (at == tokens.size() || !is_name(tokens[at][0])) return {};
  variable.name = tokens[at++];
  variable.size = variable.width;
  while (at + 1 < tokens.size() && tokens[at] == "[") {
    const bool has_count = tokens[at + 1] != "]";
    if (has_count) variable.size = clamped(variable.size) * uint64_t{number_of(tokens[at + 1])};
    at += has_count ? 3 : 2;
  }
  at = std::min(at, tokens.size());
  return variable;
}

/// Those of an entry, whose list begins at `at`; leaves it behind the list.
std::vector<Parameter> read_parameters(const Tokens& tokens, size_t& at) {
  std::vector<Parameter> parameters;
  uint64_t offset = 0;
  while (at < tokens.size() && tokens[at] != ")" && tokens[at] != "{") {
    if (tokens[at++] != ".param") continue;
    const Variable variable = read_variable(tokens, at);
    if (variable.width == 0) continue;
    const uint64_t alignment = variable.alignment == 0 ? variable.width : variable.alignment;
    offset = (offset + alignment - 1) / alignment * alignment;
    Parameter parameter{
        .offset = clamped(offset), .size = clamped(variable.size), .is_buffer = std::nullopt, .access = std::nullopt};
    if (variable.is_pointer) parameter.is_buffer = true;
    if (variable.size != 8) parameter.is_buffer = false;
    parameters.push_back(parameter);
    offset += variable.size;
  }
  return parameters;
}

/// ".maxntid 256, 1, 1": one thread limit; only .reqntid tells the sides for sure.
void read_threads(const Tokens& tokens, size_t at, Reflection& reflection) {
  const bool is_required = tokens[at] == ".reqntid";
  std::array<uint32_t, 3> sides = {1, 1, 1};
  uint64_t threads = 1;
  for (uint32_t& side : sides) {
    if (++at == tokens.size()) break;
    side = number_of(tokens[at]);
    threads = clamped(threads * side);
    if (++at == tokens.size() || tokens[at] != ",") break;
  }
  reflection.threads = clamped(threads);
  if (is_required) reflection.workgroup = sides;
}

struct SharedArray {
  bool is_dynamic = false;
  uint64_t size = 0;
};

using SharedArrays = std::unordered_map<std::string_view, SharedArray>;

/// Those of [at, last) that are declared in no braces inside, or in any. Of one name in several braces, all count.
SharedArrays shared_arrays(const Tokens& tokens, size_t at, size_t last, bool in_braces) {
  SharedArrays arrays;
  int64_t depth = 0;
  while (at < last) {
    const std::string_view word = tokens[at++];
    if (word == "{") ++depth;
    if (word == "}") --depth;
    if (word != ".shared" || (depth > 0 && !in_braces)) continue;
    const bool is_dynamic = at > 1 && tokens[at - 2] == ".extern";
    const Variable variable = read_variable(tokens, at);
    if (variable.width == 0) continue;
    SharedArray& array = arrays[variable.name];
    array.is_dynamic |= is_dynamic;
    if (!is_dynamic) array.size += clamped(variable.size);
  }
  return arrays;
}

/// Arrays declared in the body [first, last), and those of the module that the body names.
void read_shared(const SharedArrays& module, const Tokens& tokens, size_t first, size_t last, Reflection& reflection) {
  const SharedArrays own = shared_arrays(tokens, first, last, true);
  std::unordered_set<std::string_view> counted;
  uint64_t size = 0;
  for (size_t at = first; at < last; ++at) {
    const SharedArrays& arrays = own.contains(tokens[at]) ? own : module;
    const auto array = arrays.find(tokens[at]);
    if (array == arrays.end() || !counted.insert(tokens[at]).second) continue;
    size += array->second.size;
    reflection.takes_dynamic_shared |= array->second.is_dynamic;
  }
  reflection.shared_bytes = clamped(size);
}

/// Behind the brace that closes the one at `open`, or 0 if the text ends before.
size_t end_of_body(const Tokens& tokens, size_t open) {
  int64_t depth = 0;
  for (size_t at = open; at < tokens.size(); ++at) {
    if (tokens[at] == "{") ++depth;
    if (tokens[at] == "}" && --depth == 0) return at + 1;
  }
  return 0;
}

Error corrupt(std::string_view what) {
  return {.code = Errc::corrupt, .message = "this " + std::string(what)};
}

}  // namespace

Result<std::vector<Reflection>> reflect_ptx(std::span<const std::byte> bytes) {
  const Tokens tokens = tokens_of({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (tokens.empty() || tokens[0] != ".version" || std::ranges::find(tokens, ".target") == tokens.end()) {
    return corrupt("is no PTX: it does not begin with .version and .target");
  }
  const SharedArrays arrays = shared_arrays(tokens, 0, tokens.size(), false);
  std::vector<Reflection> all;
  for (size_t at = 0; at < tokens.size(); ++at) {
    if (tokens[at] == "{") {
      at = end_of_body(tokens, at) - 1;
      if (at == static_cast<size_t>(-1)) return corrupt("PTX is cut short inside a function");
    }
    if (tokens[at] != ".entry") continue;
    if (++at == tokens.size()) return corrupt("PTX is cut short inside an entry");
    Reflection reflection{.symbol = std::string(tokens[at])};
    if (++at < tokens.size() && tokens[at] == "(") reflection.parameters = read_parameters(tokens, at);
    if (!reflection.parameters) reflection.parameters.emplace();
    for (; at < tokens.size() && tokens[at] != "{" && tokens[at] != ";"; ++at) {
      if (tokens[at] == ".maxntid" || tokens[at] == ".reqntid") read_threads(tokens, at, reflection);
    }
    if (at < tokens.size() && tokens[at] == ";") continue;  // it is only announced
    const size_t end = at < tokens.size() ? end_of_body(tokens, at) : 0;
    if (end == 0) return corrupt("PTX is cut short inside an entry");
    read_shared(arrays, tokens, at, end, reflection);
    all.push_back(std::move(reflection));
    at = end - 1;
  }
  return all;
}

}  // namespace pianola::kernel_build
