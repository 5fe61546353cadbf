// SPDX-License-Identifier: Apache-2.0
// What expressions of the dialect change. Assignments, ++, -- and atomics are all that can: there are no addresses, and
// functions take values. Each must name its variable, of which it is known who has it.
#include <algorithm>

#include "kernel_build/dialect_context.hpp"
#include "kernel_build/identifier.hpp"

namespace pianola::kernel_build {
namespace {

constexpr std::string_view no_pointers = "pointers and references are not part of the dialect";

bool is_assignment(std::string_view word) {
  return word == "=" ||
         (word.size() > 1 && word.back() == '=' && word != "==" && word != "!=" && word != "<=" && word != ">=");
}

bool is_number(std::string_view word) {
  const size_t first = word.starts_with('.') ? 1 : 0;
  return first < word.size() && word[first] >= '0' && word[first] <= '9';
}

bool is_word(std::string_view word) {
  return !word.empty() && (is_of_name(word[0]) || is_number(word));
}

/// Whether a value may end with that token, so that an operator behind it has two sides.
bool ends_value(std::string_view word) {
  return is_name(word) || is_number(word) || word == ")" || word == "]" || word == "}";
}

/// What is changed, with all of the change in [first, last): the variable's name, and whether an element of it.
struct Changed {
  size_t name = no_token;
  bool is_element = false;
  size_t first = no_token;
  size_t last = no_token;
};

/// One expression, or a list of them.
class Expression {
 public:
  Expression(const Context& context, size_t first, size_t last) : context_(context), first_(first), last_(last) {}

  void check() {
    for (size_t at = first_; at < last_; ++at) {
      if (at >= piece_end_) start_piece(at);
      check_form(at);
      check_own(at);
      check_changes(at);
    }
    check_chain();
  }

 private:
  std::string_view text(size_t at) const {
    return at >= first_ && at < last_ ? context_.tokens[at].text : std::string_view();
  }
  std::string_view before(size_t at) const { return at > first_ ? text(at - 1) : std::string_view(); }
  size_t partner(size_t at) const { return context_.partners[at]; }

  /// A comma outside brackets ends a piece, which is computed before the next one.
  void start_piece(size_t at) {
    check_chain();
    piece_ = at;
    chain_.clear();
    chain_end_ = at;
    piece_end_ = end_of_part(at, last_) + 1;
  }
  /// Of "v[0] = v[1] = 0.0f" each is set behind the next one.
  void check_chain() const {
    for (const size_t name : chain_) {
      if (name != *chain_.begin()) check_order(name);
    }
  }
  /// Between "?" and ":" a comma ends nothing.
  size_t end_of_part(size_t at, size_t last) const {
    int open = 0;
    while (at < last && (open > 0 || text(at) != ",")) {
      if (text(at) == "?") ++open;
      if (text(at) == ":") --open;
      at = is_opening(at) ? partner(at) + 1 : at + 1;
    }
    return std::min(at, last);
  }

  /// What would let a type, a declaration or an address hide in an expression.
  void check_form(size_t at) const {
    const std::string_view word = text(at);
    const bool is_address = word == "*" || word == "&" || word == "&&";
    if (is_address && !ends_value(before(at))) throw Refusal{.at = at, .reason = no_pointers};
    if (word == "[" && !ends_value(before(at))) {
      throw Refusal{.at = at, .reason = "lambdas and attributes are not part of the dialect"};
    }
    if (word == ";") throw Refusal{.at = at, .reason = "statements inside expressions are not part of the dialect"};
    if (word == "." && (!ends_value(before(at)) || !is_name(text(at + 1)))) {
      throw Refusal{.at = at, .reason = "members are read as value.name, and lists of values have no names"};
    }
    if (!is_word(word)) return;
    if (!is_name(word) && !is_number(word)) throw Refusal{.at = at, .reason = "a statement begins here too early"};
    if (before(at) != "." && context_.is_type_at(at)) {
      const std::string_view after = text(at + 1);
      if (after == "*" || after == "&") throw Refusal{.at = at, .reason = no_pointers};
      if (is_word(after)) throw Refusal{.at = at, .reason = "variables are declared in statements of their own"};
      if (after != "(" && after != "{") throw Refusal{.at = at, .reason = "write a conversion as type(value)"};
    } else if (is_word(text(at + 1))) {
      throw Refusal{.at = at, .reason = "neither a type of the dialect nor followed by an operator"};
    }
  }

  /// P and PA are marks in front of a name, and nothing else has a thread's own values.
  void check_own(size_t at) const {
    const std::string_view word = text(at);
    if (word.starts_with("@@")) {
      if (word != "@@own" && word != "@@item") throw Refusal{.at = at, .reason = "a statement is not complete here"};
      if (context_.place != Place::phase) {
        throw Refusal{.at = at + 1, .reason = "a thread's own values are there in phases only"};
      }
      const auto owner = context_.names.find(text(at + 1));
      if (owner == (word == "@@own" ? Owner::own : Owner::own_array)) return;
      throw Refusal{.at = at + 1, .reason = "P(name) is for what PRV declares, PA(name, index) for what PRVA does"};
    }
    if (!is_name(word) || before(at) == "." || before(at).starts_with("@@")) return;
    const auto owner = context_.names.find(word);
    if (owner == Owner::own || owner == Owner::own_array) {
      throw Refusal{.at = at, .reason = "a thread's own value is P(name), and an element of an array PA(name, index)"};
    }
  }

  void check_changes(size_t at) {
    const std::string_view word = text(at);
    if (word.starts_with("PIANOLA_ATOMIC_")) return check_atomic(at);
    if (is_assignment(word)) {
      const Changed changed = value_before(at);
      if (changed.first != chain_end_) return check_change(at, changed);
      check_variable(at, changed);
      chain_.insert(changed.name);
      chain_end_ = word == "=" ? at + 1 : no_token;
      return;
    }
    if (word != "++" && word != "--") return;
    if (!ends_value(before(at))) return check_change(at, value_behind(at));
    Changed changed = value_before(at);
    changed.last = at + 1;
    check_change(at, changed);
  }

  void check_atomic(size_t at) const {
    if (text(at + 1) != "(") throw Refusal{.at = at, .reason = "it takes an array, an index and a value"};
    const Changed changed = changed_in(at + 2, end_of_part(at + 2, partner(at + 1)));
    check_change(at, {.name = changed.name, .is_element = true, .first = at, .last = partner(at + 1) + 1});
    if (context_.names.find(text(changed.name)) != Owner::memory) {
      throw Refusal{.at = changed.name, .reason = "atomics are for buffers that are written and for SHARED"};
    }
    if (context_.not_atomic.contains(text(changed.name))) {
      throw Refusal{.at = changed.name, .reason = "atomics are for int and uint"};
    }
  }

  void check_change(size_t at, Changed changed) const {
    check_variable(at, changed);
    if (changed.first != piece_ || changed.last != piece_end_ - 1) check_order(changed.name);
  }

  void check_variable(size_t at, Changed changed) const {
    if (changed.name == no_token) {
      throw Refusal{.at = at, .reason = "what changes must be a variable, an element or a member of one"};
    }
    const auto owner = context_.names.find(text(changed.name));
    const std::string_view reason = owner ? reason_against(*owner, changed) : "no variable of that name is known here";
    if (!reason.empty()) throw Refusal{.at = changed.name, .reason = reason};
  }

  /// Languages do not agree on what of a statement comes first, so that a change inside it must not meet another use.
  void check_order(size_t changed) const {
    const std::string_view name = text(changed);
    if (context_.may_alias && context_.names.find(name) == Owner::memory) {
      throw Refusal{.at = changed, .reason = "with MAY_ALIAS, change an element in a statement of its own"};
    }
    for (size_t at = piece_; at < piece_end_; ++at) {
      if (at == changed || text(at) != name || before(at) == ".") continue;
      if (chain_.contains(changed) && chain_.contains(at)) continue;
      throw Refusal{.at = changed,
                    .reason =
                        "used elsewhere in the statement, before or after the change, which depends on the "
                        "target; change it in a statement of its own"};
    }
  }

  std::string_view reason_against(Owner owner, Changed changed) const {
    if (context_.place == Place::bounds) return "the bounds of a phase change nothing";
    if (context_.place == Place::between && owner != Owner::workgroup) {
      return "between phases, where a CPU comes once a workgroup and a GPU once a thread, only variables that are "
             "declared there can change; write it in a phase";
    }
    if (owner == Owner::nobody) return "it can only be read";
    if (context_.place == Place::phase && owner == Owner::workgroup) {
      return "declared outside the phase, it belongs to the whole workgroup and cannot change inside; use PRV";
    }
    if (owner == Owner::memory && !changed.is_element) return "only its elements can change";
    return {};
  }

  bool is_opening(size_t at) const { return text(at) == "(" || text(at) == "[" || text(at) == "{"; }

  /// Of "v[i].x" and "(v[i]).x", which are all of [first, last), the name v; no name of anything else.
  Changed changed_in(size_t first, size_t last) const {
    if (first >= last) return {};
    size_t at = first;
    Changed changed;
    if (text(at).starts_with("@@")) ++at;
    if (text(at) == "(") {
      changed = changed_in(at + 1, partner(at));
      at = partner(at) + 1;
    } else if (is_name(text(at)) && !context_.is_type_at(at)) {
      changed.name = at++;
    }
    while (at < last) {
      if (text(at) == "[") {
        changed.is_element = true;
        at = partner(at) + 1;
      } else if (text(at) == "." && is_name(text(at + 1))) {
        at += 2;
      } else {
        return {};
      }
    }
    return changed;
  }

  /// What stands in front of "=" or behind which "++" does.
  Changed value_before(size_t end) const {
    size_t at = end;
    for (;;) {
      if (at == first_) return {};
      --at;
      if (text(at) == "]") {
        at = partner(at);
      } else if (text(at) == ")") {
        at = partner(at);
        // What a function or a conversion gives is no variable.
        return at > first_ && ends_value(text(at - 1)) ? Changed() : marked(at, changed_in(at, end));
      } else if (is_name(text(at)) && before(at) == ".") {
        --at;
      } else {
        return marked(at, changed_in(at, end));
      }
    }
  }

  /// With P or PA in front, if one stands there.
  Changed marked(size_t first, Changed changed) const {
    changed.first = before(first).starts_with("@@") ? first - 1 : first;
    return changed;
  }

  /// What stands behind "++".
  Changed value_behind(size_t start) const {
    size_t at = start + 1;
    if (text(at).starts_with("@@")) ++at;
    at = text(at) == "(" ? partner(at) + 1 : at + 1;
    while (text(at) == "[" || text(at) == ".") at = text(at) == "[" ? partner(at) + 1 : at + 2;
    Changed changed = at > last_ ? Changed() : changed_in(start + 1, at);
    changed.first = start;
    changed.last = at;
    return changed;
  }

  const Context& context_;
  size_t first_;
  size_t last_;
  size_t piece_ = 0;  ///< the piece that is read, and behind its comma
  size_t piece_end_ = 0;
  std::set<size_t> chain_;  ///< names in "v[0] = v[1] = " at the start of the piece, and behind it
  size_t chain_end_ = 0;
};

}  // namespace

void check_expression(const Context& context, size_t first, size_t last) {
  Expression(context, first, last).check();
}

}  // namespace pianola::kernel_build
