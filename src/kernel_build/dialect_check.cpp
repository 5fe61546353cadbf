// SPDX-License-Identifier: Apache-2.0
#include "kernel_build/dialect_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <string>
#include <vector>

namespace pianola::kernel_build {
namespace {

struct Token {
  std::string_view text;
  uint32_t line = 0;
  std::string_view file;
};

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
}

/// The length of the token at the start of `text`: a word or number, a mark, an operator, a literal.
size_t token_length(std::string_view text) {
  if (text.starts_with("@@")) {
    size_t end = 2;
    while (end < text.size() && is_word(text[end])) ++end;
    return end;
  }
  if (is_word(text[0])) {
    size_t end = 1;
    while (end < text.size() && is_word(text[end])) ++end;
    return end;
  }
  for (const std::string_view three : {"<<=", ">>="}) {
    if (text.starts_with(three)) return 3;
  }
  for (const std::string_view two : {"++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "==", "!=", "<=", ">=",
                                     "&&", "||", "->", "<<", ">>"}) {
    if (text.starts_with(two)) return 2;
  }
  return 1;
}

/// Line markers set file and line; other directives are passed over.
std::vector<Token> tokens_of(std::string_view text) {
  std::vector<Token> tokens;
  uint32_t line = 1;
  std::string_view file = "kernel";
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string_view rest = text.substr(at, end - at);
    at = end + 1;
    if (rest.starts_with("#")) {
      const size_t open = rest.find('"');
      const size_t close = rest.rfind('"');
      if (rest.starts_with("# ") && open < close) {
        line = static_cast<uint32_t>(std::strtoul(std::string(rest.substr(2)).c_str(), nullptr, 10));
        file = rest.substr(open + 1, close - open - 1);
        continue;
      }
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

constexpr auto types = std::to_array<std::string_view>(
    {"bool", "float", "float4", "half", "i16", "i8", "int", "u16", "u8", "uint", "uint4"});

constexpr auto refused_words = std::to_array<std::string_view>(
    {"alignas",   "asm",      "auto",    "catch",    "char",     "class",     "constexpr", "delete",
     "double",    "enum",     "extern",  "friend",   "goto",     "inline",    "long",      "mutable",
     "namespace", "new",      "nullptr", "operator", "private",  "protected", "public",    "register",
     "short",     "signed",   "sizeof",  "static",   "template", "this",      "throw",     "try",
     "typedef",   "typename", "union",   "unsigned", "using",    "virtual",   "void",      "volatile"});
static_assert(std::ranges::is_sorted(refused_words) && std::ranges::is_sorted(types));

bool is_type(std::string_view word) {
  return std::ranges::binary_search(types, word);
}

bool is_assignment(std::string_view word) {
  return word == "=" || word == "++" || word == "--" ||
         (word.size() > 1 && word.back() == '=' && word != "==" && word != "!=" && word != "<=" && word != ">=");
}

/// Walks the tokens and keeps where it is.
class Checker {
 public:
  explicit Checker(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  Result<> run() {
    for (at_ = 0; at_ < tokens_.size(); ++at_) {
      if (auto ok = step(); !ok) return ok;
    }
    return {};
  }

 private:
  struct Block {
    bool is_loop = false;
  };

  std::string_view text(size_t ahead = 0) const {
    return at_ + ahead < tokens_.size() ? tokens_[at_ + ahead].text : std::string_view();
  }
  std::string_view before() const { return at_ == 0 ? std::string_view() : tokens_[at_ - 1].text; }

  Error refusal(std::string_view reason) const {
    const Token& token = tokens_[at_];
    return {.code = Errc::unsupported,
            .message = fmt::format("{}:{}: '{}': {}", token.file, token.line, token.text, reason)};
  }

  Result<> step() {
    const std::string_view word = text();
    if (word.starts_with("@@")) {
      enter(word);
      return {};
    }
    follow_blocks(word);
    if (std::ranges::binary_search(refused_words, word)) return refusal("this word is not part of the dialect");
    if (word == "->" || (is_type(word) && (text(1) == "*" || text(1) == "&"))) {
      return refusal("pointers and references are not part of the dialect");
    }
    if (in_kernel_ && word == "return")
      return refusal("a kernel has no return; `continue` ends a phase for one thread");
    if (in_phase_) return check_in_phase(word);
    if (in_kernel_ && declares()) uniforms_.emplace(text(1));
    return {};
  }

  void enter(std::string_view mark) {
    if (mark == "@@kernel") {
      in_kernel_ = true;
      uniforms_.clear();
    } else if (mark == "@@end") {
      in_kernel_ = in_phase_ = false;
    } else if (mark == "@@phase") {
      in_phase_ = true;
      blocks_.clear();
      locals_.clear();
      // The marks stand around `do { if (condition) { ... } } while (false);`, which is the phase itself.
      skip_opening();
    } else if (mark == "@@endphase") {
      in_phase_ = false;
    }
  }

  /// Past "do { if ( condition ) {".
  void skip_opening() {
    int depth = 0;
    while (++at_ < tokens_.size()) {
      if (text() == "(") ++depth;
      if (text() == ")") --depth;
      if (text() == "{" && depth == 0 && before() == ")") return;
    }
  }

  /// Keeps the stack of blocks, and whether a loop without braces is open.
  void follow_blocks(std::string_view word) {
    if (word == "for" || word == "while" || word == "do" || word == "switch") {
      loop_is_next_ = true;
      depth_at_loop_ = parentheses_;
    }
    if (word == "(") ++parentheses_;
    if (word == ")") --parentheses_;
    if (word == "{") {
      blocks_.push_back({.is_loop = loop_is_next_});
      loop_is_next_ = false;
    }
    if (word == "}" && !blocks_.empty()) blocks_.pop_back();
    if (word == ";" && parentheses_ == depth_at_loop_) loop_is_next_ = false;
  }

  bool in_loop() const {
    return loop_is_next_ || std::ranges::any_of(blocks_, [](const Block& block) { return block.is_loop; });
  }

  /// "uint name =", "uint name ;", "uint name ," or "uint name [".
  bool declares() const {
    const std::string_view after = text(2);
    return is_type(text()) && (after == "=" || after == ";" || after == "," || after == "[");
  }

  Result<> check_in_phase(std::string_view word) {
    if (word == "break" && !in_loop()) {
      return refusal("on a CPU it would end the phase for all threads; `continue` ends it for one");
    }
    if (declares()) locals_.emplace(text(1));
    const bool changes = is_assignment(text(1)) || before() == "++" || before() == "--";
    const bool is_declared_here = is_type(before());
    if (changes && !is_declared_here && uniforms_.contains(word) && !locals_.contains(word)) {
      return refusal("declared outside the phase, it belongs to the whole workgroup and cannot change inside; use PRV");
    }
    return {};
  }

  std::vector<Token> tokens_;
  size_t at_ = 0;
  bool in_kernel_ = false;
  bool in_phase_ = false;
  bool loop_is_next_ = false;
  int parentheses_ = 0;
  int depth_at_loop_ = 0;
  std::vector<Block> blocks_;
  std::set<std::string_view> uniforms_;  ///< declared between phases of this kernel
  std::set<std::string_view> locals_;    ///< declared in this phase
};

}  // namespace

Result<> check_dialect(std::string_view preprocessed) {
  return Checker(tokens_of(preprocessed)).run();
}

}  // namespace pianola::kernel_build
