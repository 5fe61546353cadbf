// SPDX-License-Identifier: Apache-2.0
// MSL on the CPU: source text becomes C++, then a shared object whose kernels run one thread a call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace sim_metal::msl {

// The structs down to Kernel are repeated in msl/metal_stdlib; compiled kernels fill and read them.

/// One thread of one dispatch.
struct Context {
  void* const* buffers;
  void* const* threadgroup;
  uint32_t grid_position[3], group_position[3], local_position[3];
  uint32_t grid_size[3], groups[3], group_size[3], local_index;
};
/// A member of a struct that a parameter refers to: what an argument buffer holds.
struct Member {
  int id, offset, size, is_pointer, count;
  const char* name;
};
struct Parameter {
  enum Kind : int { buffer = 0, threadgroup = 1, builtin = 2 };
  enum Const : int { no = 0, yes = 1, in_constant_space = 2 };
  int kind, index, size, align, is_const, is_reference;
  const char* attribute;
  const char* name;
  const Member* members;
  int member_count, struct_size, struct_align;
};
struct Kernel {
  const char* name;
  void (*run)(const Context*);
  int parameter_count;
  const Parameter* parameters;
  int max_threads;  ///< stated by the source, or 0
  int uses_barrier;
  long (*threadgroup_variables)();  ///< their size; null if there are none
};
inline size_t static_threadgroup_bytes(const Kernel& kernel) {
  return kernel.threadgroup_variables == nullptr ? 0 : static_cast<size_t>(kernel.threadgroup_variables());
}

/// A loaded shared object.
struct Library {
  ~Library();
  void* handle = nullptr;
  std::vector<const Kernel*> kernels;
};

/// A value, or what is wrong with the source.
template <class T>
using OrText = std::variant<T, std::string>;

using Macros = std::map<std::string, std::string>;

/// MSL whose macros are expanded -> C++ that includes metal_stdlib and lists its kernels.
struct Translation {
  std::string code;    ///< the kernels themselves
  std::string tables;  ///< descriptions of their parameters
};
OrText<Translation> translate(const std::string& preprocessed);

/// Translates, compiles with clang and loads. The same text gives the same library again.
OrText<std::shared_ptr<Library>> compile(const std::string& source, const Macros& macros);

}  // namespace sim_metal::msl
