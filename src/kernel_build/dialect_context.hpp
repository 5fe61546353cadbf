// SPDX-License-Identifier: Apache-2.0
// What the check of the dialect knows at each place of a text: its tokens, its brackets, and what the names mean.
#pragma once

#include <array>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kernel_build/dialect_tokens.hpp"

namespace pianola::kernel_build {

inline constexpr size_t no_token = static_cast<size_t>(-1);

/// A token and why it is refused, on its way out of the check.
struct Refusal {
  size_t at = 0;
  std::string_view reason;
};

/// Where code stands, and so how often it runs: once a thread in a phase and in what a phase calls; between phases,
/// where bounds of phases stand too, once a workgroup on a CPU and once a thread on a GPU.
enum class Place { helper, between, bounds, phase };

/// Who has a variable.
enum class Owner {
  thread,     ///< declared in a phase or a helper
  workgroup,  ///< declared between phases: one on a CPU, one a thread on a GPU
  memory,     ///< a buffer that is written, or SHARED
  own,        ///< PRV
  own_array,  ///< PRVA
  nobody,     ///< only read: IN, VAL, VALA, and the numbers of threads and workgroups
};

/// By the word that declares an argument of a kernel, such as IN.
Owner owner_of(std::string_view kind);

/// Names by block.
class Names {
 public:
  void open() { blocks_.emplace_back(); }
  void close();
  void declare(std::string_view name, Owner owner);
  /// The innermost one's, or nothing.
  std::optional<Owner> find(std::string_view name) const;

 private:
  std::unordered_map<std::string_view, std::vector<Owner>> owners_;
  std::vector<std::vector<std::string_view>> blocks_;
};

struct Context {
  std::vector<Token> tokens;
  std::vector<size_t> partners;  ///< of each bracket, the other one
  std::set<std::string_view> structs;
  Names names;
  Place place = Place::helper;
  bool may_alias = false;                 ///< the kernel's buffers
  std::set<std::string_view> not_atomic;  ///< of the kernel's arguments, those of other types than int and uint

  /// Empty behind the end.
  std::string_view text(size_t at) const { return at < tokens.size() ? tokens[at].text : std::string_view(); }
  bool is_type_at(size_t at) const { return is_type(text(at)) || structs.contains(text(at)); }
};

/// Brackets of each kind close in order, and lie less than 256 deep, as clang wants it. Throws Refusal.
std::vector<size_t> partners_of(const std::vector<Token>& tokens);

/// Past all brackets, where one of these characters is. Throws Refusal.
size_t end_of_expression(const Context& context, size_t at, std::string_view ends);

/// Letters, digits and underscores, not begun by a digit; no word of a statement.
bool is_name(std::string_view word);

/// What each thread of a kernel knows its place by.
inline constexpr auto thread_numbers = std::to_array<std::string_view>(
    {"LID_X", "LID_Y", "LID_Z", "GID_X", "GID_Y", "GID_Z", "WG_X", "WG_Y", "WG_Z", "NWG_X", "NWG_Y", "NWG_Z"});

/// Whether it is one of those.
bool is_number_name(std::string_view name);

/// Whether the dialect has a function of that name. A second one hides them all in GLSL and none in C++.
bool is_function_name(std::string_view name);

/// Refuses what changes in tokens [first, last) and must not, or cannot be told. An expression stands there, or a list
/// of them. Throws Refusal.
void check_expression(const Context& context, size_t first, size_t last);

}  // namespace pianola::kernel_build
