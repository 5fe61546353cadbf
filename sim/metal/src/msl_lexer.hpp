// SPDX-License-Identifier: Apache-2.0
// Tokens of MSL: as much as is needed to find kernels, parameters and attributes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sim_metal::msl {

struct Token {
  enum class Kind : uint8_t { identifier, number, text, punctuation, space, line } kind{};
  std::string text;
  bool is(const char* other) const { return kind != Kind::text && text == other; }
  bool is_name() const { return kind == Kind::identifier; }
};
using Tokens = std::vector<Token>;

Tokens lex(const std::string& source);

/// The first token from `at` on that is neither space nor a line marker.
size_t skip_space(const Tokens& tokens, size_t at);
/// The token that closes the bracket at `at`; the number of tokens if none does.
size_t closing(const Tokens& tokens, size_t at, const char* open, const char* close);

/// name(index) inside [[ ]].
struct Attribute {
  std::string name;
  int index = -1;
};
bool starts_attribute(const Tokens& tokens, size_t at);
/// Reads [[a(0), b]] at `at`; gives the token after it.
size_t read_attribute(const Tokens& tokens, size_t at, std::vector<Attribute>& out);

}  // namespace sim_metal::msl
