// SPDX-License-Identifier: Apache-2.0
// Commands of a nested command buffer, rewritten to the slots and constants of the outermost one.
#pragma once

#include <cstdint>
#include <vector>

#include "base/pool.hpp"
#include "record/command_buffer_data.hpp"

namespace pianola::plan {

/// Where the ids of one nested command buffer lead in the outermost one.
class Mapping {
 public:
  /// For the command buffer that `execute` inlines; `outer` is the mapping where the execute stands,
  /// or null if that is the outermost command buffer itself.
  Mapping(const CommandBuffer::Data& root, const CommandBuffer::Data& inner, const Execute& execute,
          const Mapping* outer);

  Range map(const Range& range) const;
  /// A copy of the command with its ids replaced, in `records`. Throws std::bad_alloc.
  const CommandHeader* copy(const CommandHeader& command, Pool& records) const;

 private:
  struct Constant {
    uint32_t id = ExecuteConstant::by_value;  ///< of the outermost command buffer
    const std::byte* value = nullptr;         ///< if it has no id
  };
  void rewrite_dispatch(DispatchCommand& dispatch, const DispatchCommand& from) const;

  std::vector<Range> slots_;
  std::vector<Constant> constants_;
  std::vector<uint32_t> libraries_;
  std::vector<uint32_t> channels_;
};

}  // namespace pianola::plan
