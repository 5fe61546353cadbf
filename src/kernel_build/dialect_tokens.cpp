// SPDX-License-Identifier: Apache-2.0
#include "kernel_build/dialect_tokens.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include "kernel_build/identifier.hpp"

namespace pianola::kernel_build {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// What C++ takes for brackets and '#'.
constexpr auto digraphs = std::to_array<std::string_view>({"<%", "%>", "<:", ":>", "%:"});

/// The length of the token at the start of `text`: a name, a number, a mark, an operator, a literal.
size_t token_length(std::string_view text) {
  const bool is_mark = text.starts_with("@@");
  const bool is_number = is_digit(text[0]) || (text[0] == '.' && text.size() > 1 && is_digit(text[1]));
  if (is_mark || is_number || is_of_name(text[0])) {
    size_t end = is_mark ? 2 : 1;
    while (end < text.size() && (is_of_name(text[end]) || (is_number && text[end] == '.'))) ++end;
    return end;
  }
  for (const std::string_view three : {"<<=", ">>="}) {
    if (text.starts_with(three)) return 3;
  }
  if (std::ranges::find(digraphs, text.substr(0, 2)) != digraphs.end()) return 2;
  for (const std::string_view two : {"++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=",
                                     "==", "!=", "<=", ">=", "&&", "||", "->", "<<", ">>", "::"}) {
    if (text.starts_with(two)) return 2;
  }
  return 1;
}

constexpr auto types = std::to_array<std::string_view>(
    {"bool", "float", "float4", "half", "i16", "i8", "int", "u16", "u8", "uint", "uint4"});

constexpr auto refused_words = std::to_array<std::string_view>({"alignas",
                                                                "alignof",
                                                                "and",
                                                                "and_eq",
                                                                "asm",
                                                                "auto",
                                                                "bitand",
                                                                "bitor",
                                                                "catch",
                                                                "char",
                                                                "class",
                                                                "co_await",
                                                                "co_return",
                                                                "co_yield",
                                                                "compl",
                                                                "concept",
                                                                "const_cast",
                                                                "consteval",
                                                                "constexpr",
                                                                "constinit",
                                                                "decltype",
                                                                "delete",
                                                                "double",
                                                                "dynamic_cast",
                                                                "enum",
                                                                "explicit",
                                                                "export",
                                                                "extern",
                                                                "friend",
                                                                "goto",
                                                                "inline",
                                                                "int16_t",
                                                                "int32_t",
                                                                "int64_t",
                                                                "int8_t",
                                                                "intptr_t",
                                                                "long",
                                                                "mutable",
                                                                "namespace",
                                                                "new",
                                                                "noexcept",
                                                                "not",
                                                                "not_eq",
                                                                "nullptr",
                                                                "operator",
                                                                "or",
                                                                "or_eq",
                                                                "private",
                                                                "protected",
                                                                "ptrdiff_t",
                                                                "public",
                                                                "register",
                                                                "reinterpret_cast",
                                                                "requires",
                                                                "short",
                                                                "signed",
                                                                "size_t",
                                                                "sizeof",
                                                                "static",
                                                                "static_assert",
                                                                "static_cast",
                                                                "template",
                                                                "this",
                                                                "thread_local",
                                                                "throw",
                                                                "try",
                                                                "typedef",
                                                                "typeid",
                                                                "typename",
                                                                "uint16_t",
                                                                "uint32_t",
                                                                "uint64_t",
                                                                "uint8_t",
                                                                "uintptr_t",
                                                                "union",
                                                                "unsigned",
                                                                "using",
                                                                "virtual",
                                                                "void",
                                                                "volatile",
                                                                "wchar_t",
                                                                "xor",
                                                                "xor_eq"});
static_assert(std::ranges::is_sorted(refused_words) && std::ranges::is_sorted(types));

/// Whole numbers that have another type, or none, in GLSL or MSL.
std::string_view reason_against_integer(std::string_view number) {
  const bool is_unsigned = number.ends_with('u') || number.ends_with('U');
  const std::string_view digits = number.substr(0, number.size() - (is_unsigned ? 1 : 0));
  const int base = digits.starts_with("0x") || digits.starts_with("0X") ? 16 : digits.starts_with('0') ? 8 : 10;
  const std::string_view value_digits = digits.substr(base == 16 ? 2 : 0);
  uint64_t value = 0;
  const auto end = std::from_chars(value_digits.data(), value_digits.data() + value_digits.size(), value, base);
  if (end.ec == std::errc::result_out_of_range || value > UINT32_MAX) return "numbers have 32 bits";
  if (is_unsigned || value <= INT32_MAX) return {};
  return "without u it is a uint, an int or 64 bits wide, which depends on the target";
}

/// Numbers that mean another type, or nothing, in GLSL or MSL.
std::string_view reason_against_number(std::string_view number, std::string_view exponent) {
  const bool is_hex = number.starts_with("0x") || number.starts_with("0X");
  if (number.starts_with("0b") || number.starts_with("0B")) return "GLSL has no binary numbers";
  if (is_hex && number.find_first_of("pP.") != std::string_view::npos) return "GLSL has no hexadecimal fractions";
  if (number.find_first_of("lL") != std::string_view::npos) return "numbers have 32 bits";
  if (is_hex || number.find_first_of(".eE") == std::string_view::npos) return reason_against_integer(number);
  const std::string_view end = exponent.empty() ? number : exponent;
  if (end.ends_with('f') || end.ends_with('F')) return {};
  return "without f it is a double for some targets and a float for others";
}

constexpr std::string_view pragma = "#pragma";

/// Whether a line of the preprocessor, such as "# pragma unroll", leaves the meaning of others as it is.
bool is_harmless(std::string_view line) {
  const auto passes = [&](std::string_view word) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (!line.starts_with(word) || (line.size() > word.size() && is_of_name(line[word.size()]))) return false;
    line.remove_prefix(word.size());
    return true;
  };
  line.remove_prefix(1);
  if (!passes("pragma")) return true;
  if (passes("once") || passes("unroll") || passes("nounroll")) return true;
  return (passes("clang") || passes("GCC")) && (passes("loop") || passes("diagnostic"));
}

}  // namespace

std::optional<LineMarker> read_marker(std::string_view line) {
  const size_t open = line.find('"');
  const size_t close = line.rfind('"');
  if (!line.starts_with("# ") || open == close) return std::nullopt;
  LineMarker marker{.line = 0, .file = line.substr(open + 1, close - open - 1)};
  std::from_chars(line.data() + 2, line.data() + open, marker.line);
  return marker;
}

std::vector<Token> tokens_of(std::string_view text) {
  std::vector<Token> tokens;
  uint32_t line = 1;
  std::string_view file = "kernel";
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string_view rest = text.substr(at, end - at);
    at = end + 1;
    if (const auto marker = read_marker(rest); marker) {
      line = marker->line;
      file = marker->file;
      continue;
    }
    if (rest.starts_with("#")) {
      if (!is_harmless(rest)) tokens.push_back({.text = pragma, .line = line, .file = file});
      rest = {};
    }
    while (!rest.empty()) {
      const size_t blank = rest.find_first_not_of(" \t\r");
      if (blank == std::string_view::npos) break;
      rest.remove_prefix(blank);
      const size_t length = token_length(rest);
      tokens.push_back({.text = rest.substr(0, length), .line = line, .file = file});
      rest.remove_prefix(length);
    }
    ++line;
  }
  return tokens;
}

bool is_type(std::string_view word) {
  return std::ranges::binary_search(types, word);
}

std::string_view reason_against_name(std::string_view name) {
  const bool is_of_cpp = name.size() > 1 && name[0] == '_' && (name[1] == '_' || (name[1] >= 'A' && name[1] <= 'Z'));
  if (is_of_cpp || name.starts_with("gl_")) return "such names belong to compilers";
  if (name.starts_with("pianola_") || name.starts_with("Pianola")) return "such names belong to the dialect";
  return {};
}

std::string_view reason_against(const std::vector<Token>& tokens, size_t at) {
  const auto text = [&](size_t ahead) {
    return at + ahead < tokens.size() ? tokens[at + ahead].text : std::string_view();
  };
  const std::string_view word = text(0);
  if (std::ranges::binary_search(refused_words, word)) return "this word is not part of the dialect";
  if (word == "->" || (is_type(word) && (text(1) == "*" || text(1) == "&"))) {
    return "pointers and references are not part of the dialect";
  }
  if (word == pragma) return "of pragmas, only those for loops and warnings are part of the dialect";
  if (std::ranges::find(digraphs, word) != digraphs.end()) return "write brackets as [ ] { }";
  if (word == "::") return "names of other scopes are not part of the dialect";
  if (word == "\"" || word == "'") return "characters and text are not part of the dialect";
  const bool is_kernel = at > 0 && tokens[at - 1].text == "@@kernel";  // the built-in ones begin with pianola_
  if (const auto reason = reason_against_name(word); !reason.empty() && !is_kernel) return reason;
  if (is_digit(word[0]) || (word.size() > 1 && word[0] == '.' && is_digit(word[1]))) {
    const bool goes_on = (word.ends_with('e') || word.ends_with('E')) && (text(1) == "-" || text(1) == "+");
    return reason_against_number(word, goes_on ? text(2) : std::string_view());
  }
  if (word == "(" && is_type(text(1)) && text(2) == ")" && !text(3).empty() &&
      (is_of_name(text(3)[0]) || text(3) == "(")) {
    return "write a conversion as type(value)";
  }
  if (word == "[") {
    const std::string_view before = at == 0 ? std::string_view() : tokens[at - 1].text;
    if (before.empty() || !(is_of_name(before.back()) || before == "]" || before == ")")) {
      return "lambdas and attributes are not part of the dialect";
    }
  }
  constexpr std::string_view punctuation = "{}()[];,.:?+-*/%&|^~!<>=";
  if (word.size() == 1 && !is_of_name(word[0]) && punctuation.find(word) == std::string_view::npos) {
    return "this character is not part of the dialect";
  }
  return {};
}

}  // namespace pianola::kernel_build
