// SPDX-License-Identifier: Apache-2.0
// What assignments, increments and atomics of the dialect change.
#include "kernel_build/dialect_tokens.hpp"

namespace pianola::kernel_build {
namespace {

bool is_assignment(std::string_view word) {
  return word == "=" ||
         (word.size() > 1 && word.back() == '=' && word != "==" && word != "!=" && word != "<=" && word != ">=");
}

bool is_name(std::string_view word) {
  const char c = word.empty() ? '\0' : word[0];
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/// The bracket that tokens[at] closes, or no_token.
size_t opening_of(const std::vector<Token>& tokens, size_t at) {
  int depth = 0;
  for (;; --at) {
    const std::string_view word = tokens[at].text;
    if (word == ")" || word == "]") ++depth;
    if ((word == "(" || word == "[") && --depth == 0) return at;
    if (at == 0) return no_token;
  }
}

size_t first_name(const std::vector<Token>& tokens, size_t at, size_t end) {
  for (; at < end; ++at) {
    if (is_name(tokens[at].text)) return at;
  }
  return no_token;
}

/// The variable of the expression that ends with tokens[at], which is assigned to.
size_t variable_before(const std::vector<Token>& tokens, size_t end) {
  for (size_t at = end; at != no_token; --at) {
    const std::string_view word = tokens[at].text;
    if (word == "]") {
      at = opening_of(tokens, at);
      if (at == no_token) break;
    } else if (word == ")") {
      const size_t open = opening_of(tokens, at);
      return open == no_token ? no_token : first_name(tokens, open, at);
    } else if (word.starts_with('.') || (at > 0 && tokens[at - 1].text.ends_with('.'))) {
      continue;  // a member
    } else {
      return is_name(word) ? at : no_token;
    }
  }
  return no_token;
}

}  // namespace

std::string_view without_members(std::string_view word) {
  return word.substr(0, word.find('.'));
}

size_t changed_by(const std::vector<Token>& tokens, size_t at) {
  const std::string_view word = tokens[at].text;
  if (word.starts_with("PIANOLA_ATOMIC_")) return first_name(tokens, at + 1, tokens.size());
  if (at > 0 && is_assignment(word)) return variable_before(tokens, at - 1);
  if (word != "++" && word != "--") return no_token;
  const std::string_view before = at == 0 ? std::string_view() : tokens[at - 1].text;
  const bool is_behind = is_name(before) || before == "]" || before.starts_with('.');
  return is_behind ? variable_before(tokens, at - 1) : first_name(tokens, at + 1, tokens.size());
}

}  // namespace pianola::kernel_build
