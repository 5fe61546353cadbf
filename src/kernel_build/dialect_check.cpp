// SPDX-License-Identifier: Apache-2.0
#include "kernel_build/dialect_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "kernel_build/dialect_tokens.hpp"

namespace pianola::kernel_build {
namespace {

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
    if (const auto reason = reason_against(tokens_, at_); !reason.empty()) return refusal(reason);
    if (!in_kernel_) return check_outside(word);
    if (word == "return") return refusal("a kernel has no return; `continue` ends a phase for one thread");
    if (in_phase_) return check_in_phase(word);
    if (declares()) uniforms_.emplace(text(1));
    return {};
  }

  /// Helper functions, and what else stands between kernels.
  Result<> check_outside(std::string_view word) {
    if (word == "PIANOLA_FN") {
      helper_ = text(2);
      in_signature_ = true;
      return {};
    }
    if (in_signature_) {
      if (word == "=") return refusal("GLSL has no default arguments");
      if (word == "[") return refusal("an array as an argument is a copy for some targets and the array for others");
      if (word == ";") return refusal("helpers are defined before they are used; recursion is not possible on GPUs");
      if (word == "{") in_signature_ = false;
      return {};
    }
    if (blocks_.empty()) {
      helper_ = {};
      if (parentheses_ == 0 && declares()) return refusal("MSL has no variables outside functions; use #define");
    } else if (word == helper_ && text(1) == "(") {
      return refusal("recursion is not possible on GPUs");
    }
    return {};
  }

  void enter(std::string_view mark) {
    if (mark == "@@kernel") {
      in_kernel_ = true;
      uniforms_.clear();
    } else if (mark == "@@end") {
      in_kernel_ = in_phase_ = loop_is_next_ = false;
      blocks_.clear();
      parentheses_ = 0;
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
  bool in_signature_ = false;  ///< between FN and its body
  std::string_view helper_;    ///< the function whose body this is
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
