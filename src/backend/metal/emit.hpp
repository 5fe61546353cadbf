// SPDX-License-Identifier: Apache-2.0
// Appends commands to a program: opens encoders as late as possible and puts barriers only before work that waits.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "backend/metal/program.hpp"
#include "format/builtin_kernels.hpp"
#include "plan/plan_data.hpp"

namespace pianola::backend::metal {

class Emitter {
 public:
  /// Counts of indirect dispatches are checked against `most_groups`, if given.
  Emitter(Program& program, const Plan::Data& plan, const std::optional<std::array<uint32_t, 3>>& most_groups,
          size_t commands_per_buffer)
      : program_(program),
        commands_(*plan.commands.data()),
        most_groups_(most_groups),
        commands_per_buffer_(commands_per_buffer) {}

  /// What follows waits for these ranges; none means everything.
  void sync(std::span<const Range> ranges);
  void node(const PlanNode& node, bool as_blit);

 private:
  enum class Open : uint8_t { none, blit, compute };

  void make_room();
  void open(Open kind);
  void flush_barrier();
  void add(Step::Kind kind, size_t index);
  uint32_t kernel_index(KernelKey key);
  uint64_t stage(const Update& update);
  uint64_t slot_alignment(uint32_t slot) const;

  void fill(const Fill& fill, bool as_blit);
  void copy(const Place& to, const Place& from, uint64_t size, bool as_blit);
  void builtin(const LateBuiltin& what);
  void builtin_piece(const LateBuiltin& what);
  void dispatch(const DispatchCommand& command);
  void add_constants(DispatchStep& out, std::span<const std::byte> bytes);
  void add_bindings(DispatchStep& out, const DispatchCommand& command);
  DispatchExtra extra_of(const DispatchStep& out, const DispatchCommand& command);
  uint32_t argument_set(uint32_t kernel, const DispatchCommand& command);
  bool is_opaque(const DispatchCommand& command) const;
  uint32_t use_of_everything();
  bool needs_earlier_encoder(const Range& counts) const;
  Place checked_counts(const Range& counts);
  void note_writes(const DispatchCommand& command);

  Program& program_;
  const CommandBuffer::Data& commands_;
  std::optional<std::array<uint32_t, 3>> most_groups_;
  size_t commands_per_buffer_;
  size_t in_buffer_ = 0;  ///< commands of the command buffer so far
  Open open_ = Open::none;
  const PlanNode* node_ = nullptr;
  bool barrier_everything_ = false;
  std::vector<uint32_t> barrier_slots_;
  std::vector<Range> written_;         ///< by the dispatches of the open compute encoder
  bool written_anywhere_ = false;      ///< one of them is opaque
  std::optional<uint32_t> all_slots_;  ///< first of Program::uses that are all slots
  std::map<std::pair<uint32_t, std::vector<Argument>>, uint32_t> argument_sets_;  ///< by kernel and arguments
};

/// The step for a built-in kernel whose arguments are known, without its index; appends its places and its padded
/// constants.
DispatchStep builtin_step(const BuiltinDispatch& builtin, const LateBuiltin& what, std::vector<Place>& places,
                          std::vector<std::byte>& constants);
KernelKey builtin_key(std::string_view name);

/// Calls `use` with each part of a fill or copy that one dispatch may cover, in order.
template <class F>
void for_each_piece(const LateBuiltin& what, F&& use) {
  for (uint64_t done = 0; done < what.size; done += max_builtin_bytes) {
    LateBuiltin piece = what;
    piece.from.offset += done;
    piece.to.offset += done;
    piece.size = std::min(what.size - done, max_builtin_bytes);
    use(piece);
  }
}

}  // namespace pianola::backend::metal
