// SPDX-License-Identifier: Apache-2.0
#include "msl_lexer.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace sim_metal::msl {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}
bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}
bool is_blank(char c) {
  return std::isspace(static_cast<unsigned char>(c)) != 0;
}

/// The position after the token that starts at `at`.
size_t end_of_number(const std::string& in, size_t at) {
  while (at < in.size()) {
    const bool sign = (in[at] == '+' || in[at] == '-') && std::strchr("eEpP", in[at - 1]) != nullptr;
    if (!is_word(in[at]) && in[at] != '.' && !sign) break;
    ++at;
  }
  return at;
}
size_t end_of_text(const std::string& in, size_t at) {
  const char quote = in[at++];
  while (at < in.size() && in[at] != quote) at += in[at] == '\\' ? 2 : 1;
  return at + 1 < in.size() ? at + 1 : in.size();
}
size_t end_of_space(const std::string& in, size_t at) {
  while (at < in.size() && is_blank(in[at])) {
    if (in[at++] == '\n') break;
  }
  return at;
}

Token next_token(const std::string& in, size_t at, bool line_start) {
  using Kind = Token::Kind;
  const char c = in[at];
  size_t end = at + 1;
  Kind kind = Kind::punctuation;
  if (c == '#' && line_start) {
    end = std::min(in.find('\n', at), in.size());
    kind = Kind::line;
  } else if (is_blank(c)) {
    end = end_of_space(in, at);
    kind = Kind::space;
  } else if (is_digit(c) || (c == '.' && at + 1 < in.size() && is_digit(in[at + 1]))) {
    end = end_of_number(in, at + 1);
    kind = Kind::number;
  } else if (is_word(c)) {
    while (end < in.size() && is_word(in[end])) ++end;
    kind = Kind::identifier;
  } else if (c == '"' || c == '\'') {
    end = end_of_text(in, at);
    kind = Kind::text;
  }
  return {kind, in.substr(at, end - at)};
}

}  // namespace

Tokens lex(const std::string& source) {
  Tokens tokens;
  bool line_start = true;
  for (size_t at = 0; at < source.size();) {
    tokens.push_back(next_token(source, at, line_start));
    const Token& token = tokens.back();
    at += token.text.size();
    if (token.kind != Token::Kind::space) {
      line_start = false;
    } else if (token.text.back() == '\n') {
      line_start = true;
    }
  }
  return tokens;
}

size_t skip_space(const Tokens& tokens, size_t at) {
  while (at < tokens.size() && (tokens[at].kind == Token::Kind::space || tokens[at].kind == Token::Kind::line)) ++at;
  return at;
}

size_t closing(const Tokens& tokens, size_t at, const char* open, const char* close) {
  int depth = 0;
  for (; at < tokens.size(); ++at) {
    if (tokens[at].is(open)) ++depth;
    if (tokens[at].is(close) && --depth == 0) return at;
  }
  return tokens.size();
}

bool starts_attribute(const Tokens& tokens, size_t at) {
  return at + 1 < tokens.size() && tokens[at].is("[") && tokens[at + 1].is("[");
}

size_t read_attribute(const Tokens& tokens, size_t at, std::vector<Attribute>& out) {
  const size_t end = closing(tokens, at, "[", "]");
  for (size_t i = at + 2; i < end; ++i) {
    if (!tokens[i].is_name()) continue;
    Attribute attribute{tokens[i].text};
    const size_t open = skip_space(tokens, i + 1);
    if (open < end && tokens[open].is("(")) {
      const size_t value = skip_space(tokens, open + 1);
      if (tokens[value].kind == Token::Kind::number) attribute.index = std::atoi(tokens[value].text.c_str());
      i = closing(tokens, open, "(", ")");
    }
    out.push_back(std::move(attribute));
  }
  return end + 1;
}

}  // namespace sim_metal::msl
