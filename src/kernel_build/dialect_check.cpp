// SPDX-License-Identifier: Apache-2.0
// Reads statements and blocks, so that it is known at each place what a name means and who has it. What cannot be read
// is refused: nothing that the check does not understand reaches a compiler.
#include "kernel_build/dialect_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kernel_build/dialect_context.hpp"
#include "kernel_build/dialect_layout.hpp"

namespace pianola::kernel_build {
namespace {

constexpr std::string_view no_pointers = "pointers and references are not part of the dialect";
constexpr std::string_view no_globals = "MSL has no variables outside functions; use #define";
constexpr std::string_view numbers_name = "the dialect has a number of that name";
constexpr std::string_view other_layout =
    "CPUs and GPUs would lay it out differently: fill it up so that each float4 and uint4, and its end, are at 16 n";
constexpr size_t max_nesting = 256;

class Checker {
 public:
  explicit Checker(Context& context) : context_(context) {}

  void run() {
    while (at_ < context_.tokens.size()) read_outside();
  }

 private:
  std::string_view text(size_t ahead = 0) const { return context_.text(at_ + ahead); }
  bool is_type_here() const { return context_.is_type_at(at_); }
  bool is_pointer_behind() const { return text(1) == "*" || text(1) == "&" || text(1) == "&&"; }

  [[noreturn]] void refuse(std::string_view reason) const {
    throw Refusal{.at = std::min(at_, context_.tokens.size() - 1), .reason = reason};
  }
  void expect(std::string_view word, std::string_view reason) {
    if (text() != word) refuse(reason);
    ++at_;
  }
  /// Passes the word over, if it is there.
  bool passes(std::string_view word) {
    if (text() != word) return false;
    ++at_;
    return true;
  }
  /// At the bracket that stands here.
  size_t partner() const { return context_.partners[at_]; }

  void read_outside() {
    if (passes(";")) return;
    if (text() == "@@kernel") return read_kernel();
    if (text() == "PIANOLA_FN") return read_helper();
    if (text() == "struct") return read_struct();
    passes("const");
    refuse(is_type_here() ? no_globals : "outside kernels there are helpers, which FN begins, and structs");
  }

  /// "struct name { type name, name[3]; };"
  void read_struct() {
    ++at_;
    const std::string_view name = text();
    if (!is_name(name) || text(1) != "{") refuse("a struct is declared as struct name { ... };");
    ++at_;
    const size_t end = partner();
    Layouts::Layout layout;
    for (++at_; at_ < end;) {
      if (!is_type_here()) refuse("no type that a struct may hold");
      const Layouts::Layout type = layouts_.of(text());
      if (is_pointer_behind()) refuse(no_pointers);
      if (with_bool_.contains(text())) with_bool_.insert(name);
      do {
        ++at_;
        if (!is_name(text())) refuse("a struct holds variables");
        Layouts::Layout member = type;
        for (size_t at = ++at_; context_.text(at) == "["; at = context_.partners[at] + 1) {
          Layouts::repeat(member, context_.partners[at] == at + 2 ? context_.text(at + 1) : std::string_view());
        }
        Layouts::add(layout, member);
        read_sides();
      } while (text() == ",");
      expect(";", "a struct holds variables without values of their own, and no functions");
    }
    if (text(1) != ";") refuse(context_.place == Place::helper && !is_in_function_ ? no_globals : "';' belongs here");
    at_ += 2;
    context_.structs.insert(name);
    if (!is_in_function_) layouts_.finish(name, layout);  // buffers hold no others
  }

  /// "PIANOLA_FN type name(type name, const type name) { ... }"
  void read_helper() {
    ++at_;
    if (!is_type_here()) refuse("no type of the dialect");
    if (is_pointer_behind()) refuse(no_pointers);
    ++at_;
    const std::string_view name = text();
    if (is_function_name(name)) refuse("the dialect has a function of that name");
    if (!is_name(name) || text(1) != "(") refuse("a helper begins as FN type name(");
    at_ += 2;
    context_.place = Place::helper;
    context_.names.open();
    while (!passes(")")) {
      read_argument();
      if (text() != ")") expect(",", "a helper's arguments are values: type name");
    }
    if (text() == ";") refuse("helpers are defined before they are used; recursion is not possible on GPUs");
    if (text() != "{") refuse("a helper's body belongs here");
    const size_t end = partner();
    for (size_t at = at_; at < end; ++at) {
      if (context_.text(at) != name || context_.text(at + 1) != "(") continue;
      at_ = at;
      refuse("recursion is not possible on GPUs");
    }
    is_in_function_ = true;
    read_block();
    is_in_function_ = false;
    context_.names.close();
  }

  void read_argument() {
    passes("const");
    if (!is_type_here()) refuse("no type of the dialect");
    if (is_pointer_behind()) refuse(no_pointers);
    ++at_;
    if (is_name(text())) {
      context_.names.declare(text(), Owner::thread);
      ++at_;
    }
    if (text() == "=") refuse("GLSL has no default arguments");
    if (text() == "[") refuse("an array as an argument is a copy for some targets and the array for others");
  }

  /// "@@kernel name @@args IN(type, name), ... @@body ... @@end"
  void read_kernel() {
    at_ += 2;
    context_.names.open();
    for (const std::string_view number : thread_numbers) context_.names.declare(number, Owner::nobody);
    context_.may_alias = false;
    context_.not_atomic.clear();
    if (passes("@@args")) {
      while (at_ < context_.tokens.size() && text() != "@@body") read_entry();
    }
    expect("@@body", "a kernel begins here");
    context_.place = Place::between;
    is_in_function_ = true;
    context_.names.open();
    while (!passes("@@end")) read_statement();
    context_.names.close();
    context_.names.close();
    context_.place = Place::helper;
    is_in_function_ = false;
  }

  /// "OUT_AT(set, binding, type, name)" and the others, whose second word is the name. Compilers read the rest.
  void read_entry() {
    const std::string_view kind = text();
    context_.may_alias |= kind == "MAY_ALIAS";
    ++at_;
    if (text() != "(") return;
    const size_t end = partner();
    std::string_view type;
    for (size_t commas = kind.ends_with("_AT") ? 3 : 1; commas > 0 && at_ < end; ++at_) {
      if (text() != ",") type = text();
      if (text() == ",") --commas;
      if (with_bool_.contains(text())) refuse("a bool in memory has 4 bytes for GLSL and 1 elsewhere");
      if (layouts_.of(text()).differs) refuse(other_layout);
    }
    if (is_number_name(text())) refuse(numbers_name);
    if (is_type(type) && type != "int" && type != "uint") context_.not_atomic.insert(text());
    if (at_ < end) context_.names.declare(text(), owner_of(kind));
    at_ = end + 1;
  }

  void read_block() {
    const size_t end = partner();
    context_.names.open();
    for (++at_; at_ != end;) read_statement();
    ++at_;
    context_.names.close();
  }

  void read_statement() {
    const std::string_view word = text();
    if (word.empty()) refuse("the text ends inside a function");
    if (word == "{") return read_block();
    if (word == ";") return void(++at_);
    if (word == "if") return read_if();
    if (word == "for") return read_for();
    if (word == "while" || word == "switch") {
      ++at_;
      read_condition();
      switches_ += word == "switch" ? 1 : 0;
      read_loop_body();
      switches_ -= word == "switch" ? 1 : 0;
      return;
    }
    if (word == "do") return read_do();
    if (word == "struct") return read_struct();
    if (word == "@@phase") return void(read_phase());
    if (word.starts_with("@@") && word != "@@own" && word != "@@item") {
      refuse(word == "@@end" ? "the phase has no end" : "no phase begins in this block");
    }
    if (word == "const" || is_type_here()) return read_declarations();
    if ((word == "case" || word == "default") && switches_ == 0) refuse("its switch does not stand in this phase");
    if (word == "case") {
      ++at_;
      return read_expression(":");
    }
    if (word == "default" && text(1) == ":") return void(at_ += 2);
    if (word == "break" || word == "continue" || word == "return") return read_jump(word);
    read_expression(";");
  }

  void read_jump(std::string_view word) {
    if (word == "return" && context_.place != Place::helper) {
      refuse("a kernel has no return; `continue` ends a phase for one thread");
    }
    if (word == "break" && loops_ == 0) {
      refuse(context_.place == Place::phase
                 ? "on a CPU it would end the phase for all threads; `continue` ends it for one"
                 : "it leaves no loop");
    }
    ++at_;
    if (word == "return") return read_expression(";");
    expect(";", "';' belongs here");
  }

  /// One without braces has a block of its own too. A barrier is a statement behind its phase.
  void read_body() {
    if (++nesting_ > max_nesting) refuse("statements lie too deep in each other");
    context_.names.open();
    const size_t start = at_;
    if (text() != "@@phase") {
      read_statement();
    } else if (read_phase()) {
      at_ = start;
      refuse("END_SYNC needs braces around the phase, or its barrier stands behind the whole statement on GPUs");
    }
    context_.names.close();
    --nesting_;
  }

  void read_loop_body() {
    ++loops_;
    read_body();
    --loops_;
  }

  void read_condition() {
    if (text() != "(") refuse("'(' belongs here");
    const size_t end = partner();
    check_expression(context_, at_ + 1, end);
    at_ = end + 1;
  }

  void read_if() {
    for (;;) {
      ++at_;
      read_condition();
      read_body();
      if (!passes("else")) return;
      if (text() != "if") return read_body();
    }
  }

  void read_for() {
    ++at_;
    if (text() != "(") refuse("'(' belongs here");
    const size_t end = partner();
    ++at_;
    context_.names.open();
    if (text() == "const" || is_type_here()) {
      read_declarations();
    } else {
      read_expression(";");
    }
    read_expression(";");
    check_expression(context_, at_, end);
    at_ = end + 1;
    read_loop_body();
    context_.names.close();
  }

  void read_do() {
    ++at_;
    read_loop_body();
    expect("while", "'while' belongs here");
    read_condition();
    expect(";", "';' belongs here");
  }

  /// "@@phase do { if (bounds) { ... } } while (false); @@endphase", and the barrier. Whether it has one.
  bool read_phase() {
    if (context_.place == Place::phase) refuse("a phase inside a phase");
    if (context_.place != Place::between) refuse("phases are for kernels");
    at_ += 4;
    context_.place = Place::bounds;
    read_condition();
    context_.place = Place::phase;
    const auto loops = std::exchange(loops_, 0);
    const auto switches = std::exchange(switches_, 0);
    read_block();
    loops_ = loops;
    switches_ = switches;
    context_.place = Place::between;
    for (const std::string_view word : {"}", "while", "(", "false", ")", ";", "@@endphase"}) {
      expect(word, "a phase ends in the block where it begins");
    }
    return passes("PIANOLA_BARRIER");
  }

  /// "const type name = value, name[3];"
  void read_declarations() {
    passes("const");
    if (!is_type_here()) refuse("no type of the dialect");
    if (is_pointer_behind()) refuse(no_pointers);
    if (!is_name(text(1))) refuse("a variable's declaration begins here, or a value that nobody takes");
    do {
      ++at_;
      read_variable();
    } while (text() == ",");
    expect(";", "declare variables as type name = value;");
  }

  void read_variable() {
    const std::string_view name = text();
    if (name == "*" || name == "&" || name == "&&") refuse(no_pointers);
    if (!is_name(name)) refuse("a variable's name belongs here");
    if (is_number_name(name)) refuse(numbers_name);
    const size_t start = at_++;
    read_sides();
    if (passes("=")) {
      const size_t first = at_;
      skip_to(",;");
      check_expression(context_, first, at_);
      for (size_t at = first; at < at_; ++at) {
        if (context_.text(at) != name || context_.text(at - 1) == "." || context_.text(at + 1) == "(") continue;
        throw Refusal{.at = at, .reason = "C++ takes the new variable here, and GLSL an older one of that name"};
      }
    }
    if (text() == "{" || text() == "(") {
      at_ = start;
      refuse("GLSL has no such values; declare it as type name = value");
    }
    context_.names.declare(name, context_.place == Place::between ? Owner::workgroup : Owner::thread);
  }

  /// "[3][4]"
  void read_sides() {
    while (text() == "[") {
      check_expression(context_, at_ + 1, partner());
      at_ = partner() + 1;
    }
  }

  void skip_to(std::string_view ends) { at_ = end_of_expression(context_, at_, ends); }

  void read_expression(std::string_view end) {
    const size_t first = at_;
    skip_to(end);
    check_expression(context_, first, at_);
    ++at_;
  }

  Context& context_;
  size_t at_ = 0;
  bool is_in_function_ = false;
  int loops_ = 0;  ///< and switches that are open here, of those inside the phase
  int switches_ = 0;
  size_t nesting_ = 0;
  Layouts layouts_;
  std::set<std::string_view> with_bool_ = {"bool"};  ///< types that are a bool or hold one
};

}  // namespace

Result<> check_dialect(std::string_view preprocessed) {
  Context context{.tokens = tokens_of(preprocessed), .partners = {}, .structs = {}, .names = {}};
  try {
    for (size_t at = 0; at < context.tokens.size(); ++at) {
      if (const auto reason = reason_against(context.tokens, at); !reason.empty()) {
        throw Refusal{.at = at, .reason = reason};
      }
    }
    context.partners = partners_of(context.tokens);
    Checker(context).run();
  } catch (const Refusal& refusal) {
    const Token& token = context.tokens[refusal.at];
    return Error{.code = Errc::unsupported,
                 .message = fmt::format("{}:{}: '{}': {}", token.file, token.line, token.text, refusal.reason)};
  }
  return {};
}

}  // namespace pianola::kernel_build
