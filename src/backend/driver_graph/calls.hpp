// SPDX-License-Identifier: Apache-2.0
// Operations with bindings put in: the driver calls they become.
#pragma once

#include <vector>

#include "backend/driver_graph/lowered.hpp"

namespace pianola::driver_graph {

/// Addresses of all slots and bytes of all named constants.
struct Values {
  std::vector<std::byte*> address;
  std::vector<uint8_t> on_host;
  std::vector<std::byte> constants;
  std::vector<uint32_t> constant_offset;

  static Values of(const backend::Bindings& bindings);
  std::span<const std::byte> constant(uint32_t id) const {
    const size_t begin = constant_offset[id];
    const size_t end = id + 1 < constant_offset.size() ? constant_offset[id + 1] : constants.size();
    return std::span(constants).subspan(begin, end - begin);
  }
  bool operator==(const Values&) const = default;
};

/// Makes calls; each is valid until the next one is made.
class CallMaker {
 public:
  CallMaker(const Lowered& lowered, const Values& values) : lowered_(lowered), values_(values) {}

  /// Of any operation that is a kernel.
  KernelCall kernel(const Operation& operation);
  FillCall fill(const Operation& operation) const;
  CopyCall copy(const Operation& operation) const;  ///< of a copy or upload
  /// Group counts with named constants put in; they may be 0.
  std::array<uint32_t, 3> groups(const Operation& operation) const;
  std::byte* address(uint32_t index) const;
  std::byte* source_of(const Operation& operation) const;  ///< of copies

 private:
  KernelCall builtin(const Operation& operation);
  KernelCall finish(const LoadedKernel& kernel, std::array<uint32_t, 3> groups);

  const Lowered& lowered_;
  const Values& values_;
  std::vector<std::byte*> pointers_;
  std::vector<std::byte> constants_;
  std::vector<void*> arguments_;
};

/// True if a count that comes from a named constant is 0.
bool has_empty_dispatch(const Lowered& lowered, const Values& values);

}  // namespace pianola::driver_graph
