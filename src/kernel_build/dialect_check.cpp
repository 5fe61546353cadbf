// SPDX-License-Identifier: Apache-2.0
#include "kernel_build/dialect_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernel_build/dialect_tokens.hpp"

namespace pianola::kernel_build {
namespace {

/// Of the dialect. A second one hides them all in GLSL and none in C++.
constexpr auto functions = std::to_array<std::string_view>({"abs", "clamp", "cos", "exp", "floor", "fma", "log", "max",
                                                            "min", "pow", "round", "rsqrt", "sin", "sqrt", "tanh"});
static_assert(std::ranges::is_sorted(functions));

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

  Error refusal(std::string_view reason) const { return refusal_at(at_, reason); }
  Error refusal_at(size_t at, std::string_view reason) const {
    const Token& token = tokens_[at];
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
    if (structs_.contains(word) && (text(1) == "*" || text(1) == "&")) {
      return refusal("pointers and references are not part of the dialect");
    }
    if (!in_kernel_) return check_outside(word);
    if (word == "return") return refusal("a kernel has no return; `continue` ends a phase for one thread");
    if (declares()) add_names(in_phase_ ? locals_ : uniforms_);
    return in_phase_ ? check_in_phase(word) : check_between_phases();
  }

  /// Helper functions, and what else stands between kernels.
  Result<> check_outside(std::string_view word) {
    if (word == "PIANOLA_FN") {
      helper_ = text(2);
      if (std::ranges::binary_search(functions, helper_)) {
        return refusal_at(at_ + 2, "the dialect has a function of that name");
      }
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
    if (word == "struct") {
      structs_.insert(text(1));
      is_in_struct_ = true;
    }
    if (blocks_.empty()) {
      helper_ = {};
      const bool ends_struct = word == "}" && std::exchange(is_in_struct_, false);
      const bool has_variable = ends_struct ? text(1) != ";" : parentheses_ == 0 && declares();
      if (has_variable) return refusal("MSL has no variables outside functions; use #define");
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

  bool is_type_here(std::string_view word) const { return is_type(word) || structs_.contains(word); }

  /// "uint name =", "uint name ;", "uint name ," or "uint name [".
  bool declares() const {
    const std::string_view after = text(2);
    return is_type_here(text()) && (after == "=" || after == ";" || after == "," || after == "[");
  }

  /// The names of a declaration's whole list.
  void add_names(std::set<std::string_view>& names) const {
    names.insert(text(1));
    int depth = 0;
    for (size_t i = 2; !text(i).empty() && (depth > 0 || text(i) != ";"); ++i) {
      if (text(i) == "(" || text(i) == "[" || text(i) == "{") ++depth;
      if (text(i) == ")" || text(i) == "]" || text(i) == "}") --depth;
      if (text(i) == "," && depth == 0) names.insert(text(i + 1));
    }
  }

  Result<> check_in_phase(std::string_view word) {
    if (word == "break" && !in_loop()) {
      return refusal("on a CPU it would end the phase for all threads; `continue` ends it for one");
    }
    const size_t changed = changed_by(tokens_, at_);
    if (changed == no_token) return {};
    const std::string_view name = without_members(tokens_[changed].text);
    if (!uniforms_.contains(name) || locals_.contains(name)) return {};
    return refusal_at(
        changed, "declared outside the phase, it belongs to the whole workgroup and cannot change inside; use PRV");
  }

  Result<> check_between_phases() const {
    const size_t changed = changed_by(tokens_, at_);
    if (changed == no_token || uniforms_.contains(without_members(tokens_[changed].text))) return {};
    return refusal_at(changed,
                      "between phases, where a CPU comes once a workgroup and a GPU once a thread, only variables that "
                      "are declared there can change; write it in a phase");
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
  bool is_in_struct_ = false;
  std::set<std::string_view> structs_;   ///< their names
  std::set<std::string_view> uniforms_;  ///< declared between phases of this kernel
  std::set<std::string_view> locals_;    ///< declared in this phase
};

}  // namespace

Result<> check_dialect(std::string_view preprocessed) {
  return Checker(tokens_of(preprocessed)).run();
}

}  // namespace pianola::kernel_build
