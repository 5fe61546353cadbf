// SPDX-License-Identifier: Apache-2.0
#include "kernel_build/dialect_context.hpp"

#include <algorithm>

#include "kernel_build/identifier.hpp"

namespace pianola::kernel_build {
namespace {

constexpr size_t max_depth = 256;

constexpr auto statement_words =
    std::to_array<std::string_view>({"break", "case", "const", "continue", "default", "do", "else", "for", "if",
                                     "return", "struct", "switch", "while"});
constexpr auto functions = std::to_array<std::string_view>({"abs", "clamp", "cos", "exp", "floor", "fma", "log", "max",
                                                            "min", "pow", "round", "rsqrt", "sin", "sqrt", "tanh"});
static_assert(std::ranges::is_sorted(statement_words) && std::ranges::is_sorted(functions));

}  // namespace

void Names::close() {
  for (const std::string_view name : blocks_.back()) owners_[name].pop_back();
  blocks_.pop_back();
}

void Names::declare(std::string_view name, Owner owner) {
  owners_[name].push_back(owner);
  blocks_.back().push_back(name);
}

std::optional<Owner> Names::find(std::string_view name) const {
  const auto at = owners_.find(name);
  if (at == owners_.end() || at->second.empty()) return std::nullopt;
  return at->second.back();
}

std::vector<size_t> partners_of(const std::vector<Token>& tokens) {
  constexpr std::string_view opening = "([{";
  constexpr std::string_view closing = ")]}";
  std::vector<size_t> partners(tokens.size(), no_token);
  std::vector<size_t> open;
  for (size_t at = 0; at < tokens.size(); ++at) {
    const std::string_view word = tokens[at].text;
    if (word.size() != 1) continue;
    if (opening.find(word) != std::string_view::npos) {
      open.push_back(at);
      if (open.size() >= max_depth) throw Refusal{.at = at, .reason = "brackets lie too deep in each other"};
    }
    const size_t kind = closing.find(word);
    if (kind == std::string_view::npos) continue;
    if (open.empty() || tokens[open.back()].text[0] != opening[kind]) {
      throw Refusal{.at = at, .reason = "it closes no bracket"};
    }
    partners[at] = open.back();
    partners[open.back()] = at;
    open.pop_back();
  }
  if (!open.empty()) throw Refusal{.at = open.back(), .reason = "nothing closes it"};
  return partners;
}

Owner owner_of(std::string_view kind) {
  const bool is_written = kind == "OUT" || kind == "INOUT" || kind == "OUT_AT" || kind == "INOUT_AT";
  if (is_written || kind == "SHARED") return Owner::memory;
  return kind == "PRV" ? Owner::own : kind == "PRVA" ? Owner::own_array : Owner::nobody;
}

size_t end_of_expression(const Context& context, size_t at, std::string_view ends) {
  for (;; ++at) {
    const std::string_view word = context.text(at);
    if (word == "(" || word == "[" || word == "{") {
      at = context.partners[at];
    } else if (word.size() == 1 && ends.find(word) != std::string_view::npos) {
      return at;
    } else if (word.empty() || word == ")" || word == "]" || word == "}" || word == "@@endphase" || word == "@@end") {
      throw Refusal{.at = std::min(at, context.tokens.size() - 1), .reason = "a statement is not complete here"};
    }
  }
}

bool is_name(std::string_view word) {
  if (word.empty() || !is_of_name(word[0]) || (word[0] >= '0' && word[0] <= '9')) return false;
  return !std::ranges::binary_search(statement_words, word);
}

bool is_number_name(std::string_view name) {
  return std::ranges::find(thread_numbers, name) != thread_numbers.end();
}

bool is_function_name(std::string_view name) {
  return std::ranges::binary_search(functions, name);
}

}  // namespace pianola::kernel_build
