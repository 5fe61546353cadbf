// SPDX-License-Identifier: Apache-2.0
#include "backend/metal/emit.hpp"

#include <algorithm>
#include <cstring>

namespace pianola::backend::metal {
namespace {

/// Beyond this many buffers one barrier of everything is cheaper than naming them.
constexpr size_t max_named_resources = 8;
constexpr uint64_t block_bytes = 16;

Place place_of(const Range& range) {
  return {static_cast<uint32_t>(range.slot), range.offset};
}

bool overlap(const Range& a, const Range& b) {
  return a.slot == b.slot && a.offset < b.offset + b.size && b.offset < a.offset + a.size;
}

}  // namespace

KernelKey builtin_key(std::string_view name) {
  return {KernelKey::builtin, builtin_kernels().find(name).value_or(0)};
}

void Emitter::step(Step::Kind kind, uint32_t index) {
  program_.steps.push_back({.kind = kind, .first = index, .group = node_->group, .source = node_->source});
}

void Emitter::open(Open kind) {
  if (open_ == kind) return;
  const bool is_blit = kind == Open::blit;
  program_.steps.push_back({.kind = is_blit ? Step::Kind::blit : Step::Kind::compute});
  ++(is_blit ? program_.stats.blit_encoders : program_.stats.compute_encoders);
  if (open_ != Open::none) ++program_.stats.switches;
  open_ = kind;
  barrier_everything_ = false;
  barrier_slots_.clear();
  written_.clear();
  written_anywhere_ = false;
}

void Emitter::sync(std::span<const Range> ranges) {
  if (open_ != Open::compute) return;  // blits of an encoder run in order, and the end of an encoder orders the rest
  barrier_everything_ = barrier_everything_ || ranges.empty();
  for (const Range& range : ranges) {
    const auto slot = static_cast<uint32_t>(range.slot);
    if (std::ranges::find(barrier_slots_, slot) == barrier_slots_.end()) barrier_slots_.push_back(slot);
  }
  if (barrier_slots_.size() > max_named_resources) barrier_everything_ = true;
}

void Emitter::flush_barrier() {
  if (!barrier_everything_ && barrier_slots_.empty()) return;
  Step barrier{.kind = Step::Kind::barrier};
  if (!barrier_everything_) {
    barrier.first = static_cast<uint32_t>(program_.barrier_slots.size());
    barrier.count = static_cast<uint32_t>(barrier_slots_.size());
    program_.barrier_slots.insert(program_.barrier_slots.end(), barrier_slots_.begin(), barrier_slots_.end());
  }
  barrier_everything_ = false;
  barrier_slots_.clear();
  program_.steps.push_back(barrier);
  ++program_.stats.barriers;
}

void Emitter::node(const PlanNode& node, bool as_blit) {
  node_ = &node;
  open(as_blit ? Open::blit : Open::compute);
  switch (node.command->op) {
    case Op::fill: return fill(as<Fill>(*node.command), as_blit);
    case Op::copy: {
      const auto& c = as<Copy>(*node.command);
      return copy(place_of(c.destination), place_of(c.source), c.destination.size, as_blit);
    }
    case Op::update: {
      const auto& u = as<Update>(*node.command);
      return copy(place_of(u.destination), {staging_slot, stage(u)}, u.destination.size, as_blit);
    }
    default: return dispatch(as<DispatchCommand>(*node.command));
  }
}

/// Staged bytes lie in their 16-byte block as their destination does, so that whole blocks can be copied.
uint64_t Emitter::stage(const Update& update) {
  auto& staged = program_.staged;
  const uint64_t at =
      (staged.size() + block_bytes - 1) / block_bytes * block_bytes + update.destination.offset % block_bytes;
  staged.resize(at + update.destination.size);
  std::memcpy(staged.data() + at, update.bytes().data(), update.destination.size);
  program_.stats.staged_bytes += update.destination.size;
  return at;
}

void Emitter::fill(const Fill& fill, bool as_blit) {
  const Range& to = fill.destination;
  if (as_blit) {
    step(Step::Kind::fill, static_cast<uint32_t>(program_.fills.size()));
    program_.fills.push_back({place_of(to), to.size, static_cast<uint8_t>(fill.pattern[0])});
    ++program_.stats.blits;
    return;
  }
  LateBuiltin what{.is_fill = true, .to = place_of(to), .size = to.size, .pattern = fill.pattern};
  what.pattern_size = to.tag;
  builtin(what);
}

void Emitter::copy(const Place& to, const Place& from, uint64_t size, bool as_blit) {
  if (as_blit) {
    step(Step::Kind::copy, static_cast<uint32_t>(program_.copies.size()));
    program_.copies.push_back({from, to, size});
    ++program_.stats.blits;
    return;
  }
  builtin({.from = from, .to = to, .size = size});
}

uint64_t Emitter::slot_alignment(uint32_t slot) const {
  return slot == staging_slot ? 256 : commands_.slots[slot].alignment;
}

void Emitter::builtin(const LateBuiltin& what) {
  flush_barrier();
  for (uint64_t done = 0; done < what.size; done += max_builtin_bytes) {
    LateBuiltin piece = what;
    piece.from.offset += done;
    piece.to.offset += done;
    piece.size = std::min(what.size - done, max_builtin_bytes);
    builtin_piece(piece);
  }
  const Range range{.slot = SlotId{what.to.slot}, .offset = what.to.offset, .size = what.size};
  written_.push_back(range);
}

void Emitter::builtin_piece(const LateBuiltin& what) {
  ++program_.stats.dispatches;
  const bool is_known = slot_alignment(what.to.slot) % block_bytes == 0 &&
                        (what.is_fill || slot_alignment(what.from.slot) % block_bytes == 0);
  if (!is_known) {
    for (const char* name : {"pianola_fill", "pianola_copy_blocks", "pianola_copy_words"}) {
      kernel_index(builtin_key(name));
    }
    step(Step::Kind::late, static_cast<uint32_t>(program_.late.size()));
    program_.late.push_back(what);
    return;
  }
  const BuiltinDispatch builtin =
      what.is_fill ? builtin_fill(what.to.offset, what.size, std::span(what.pattern).first(what.pattern_size))
                   : builtin_copy(what.to.offset, what.from.offset, what.size);
  step(Step::Kind::dispatch, static_cast<uint32_t>(program_.dispatches.size()));
  program_.dispatches.push_back(builtin_step(builtin, what, program_.arguments, program_.constants));
  program_.dispatches.back().kernel = kernel_index(builtin_key(builtin.kernel));
}

DispatchStep builtin_step(const BuiltinDispatch& builtin, const LateBuiltin& what, std::vector<Argument>& arguments,
                          std::vector<std::byte>& constants) {
  DispatchStep out;
  out.threads = builtin_kernels().kernels()[builtin_key(builtin.kernel).entry].workgroup;
  out.groups[0] = builtin.groups;
  out.first_argument = static_cast<uint32_t>(arguments.size());
  const auto add_twice = [&](Place place, uint64_t block_offset, Access access) {
    arguments.push_back({place, access});
    // Where there is no whole block, its place may lie past the memory's end, which Metal refuses.
    const bool has_blocks = block_offset < what.size;
    place.offset = has_blocks ? place.offset + block_offset : place.offset / block_bytes * block_bytes;
    arguments.push_back({place, access});
  };
  if (!what.is_fill) add_twice(what.from, builtin.source_block_offset, Access::in);
  add_twice(what.to, builtin.block_offset, Access::out);
  out.argument_count = static_cast<uint32_t>(arguments.size()) - out.first_argument;
  const auto bytes = std::as_bytes(std::span(builtin.constants));
  out.first_constant = static_cast<uint32_t>(constants.size());
  constants.insert(constants.end(), bytes.begin(), bytes.end());
  constants.resize((constants.size() + block_bytes - 1) / block_bytes * block_bytes);
  out.constant_bytes = static_cast<uint32_t>(constants.size()) - out.first_constant;
  return out;
}

uint32_t Emitter::kernel_index(KernelKey key) {
  const auto found = std::ranges::find(program_.kernels, key);
  if (found == program_.kernels.end()) program_.kernels.push_back(key);
  return static_cast<uint32_t>(std::ranges::find(program_.kernels, key) - program_.kernels.begin());
}

/// Counts may be read as early as when the encoder starts, so their producer sits in an earlier one.
bool Emitter::needs_earlier_encoder(const Range& counts) const {
  const bool may_alias = commands_.slots[static_cast<uint32_t>(counts.slot)].may_alias;
  return written_anywhere_ || std::ranges::any_of(written_, [&](const Range& range) {
           const auto slot = static_cast<uint32_t>(range.slot);
           return overlap(range, counts) || (may_alias && commands_.slots[slot].may_alias);
         });
}

void Emitter::note_writes(const DispatchCommand& command) {
  for (const Range& range : command.bindings()) {
    if (writes(static_cast<Access>(range.tag))) written_.push_back(range);
  }
  for (const Range& range : command.uses()) {
    if (writes(static_cast<Access>(range.tag))) written_.push_back(range);
  }
  const KernelInfo& info = commands_.libraries[command.library].kernels()[command.entry];
  written_anywhere_ = written_anywhere_ || info.opaque;
}

void Emitter::add_uses(DispatchStep& out, const DispatchCommand& command) {
  out.first_use = static_cast<uint32_t>(program_.uses.size());
  for (const Range& range : command.uses()) {
    program_.uses.push_back({place_of(range), static_cast<Access>(range.tag)});
  }
  out.use_count = command.use_count;
}

void Emitter::dispatch(const DispatchCommand& command) {
  if (command.is_indirect() && needs_earlier_encoder(command.counts())) {
    open_ = Open::none;
    open(Open::compute);
  }
  flush_barrier();
  const KernelInfo& info = commands_.libraries[command.library].kernels()[command.entry];
  DispatchStep out;
  out.kernel = kernel_index({command.library, command.entry});
  out.threads = info.workgroup;
  out.groups = command.groups;
  out.named_groups = command.header.flags & 7U;
  out.is_indirect = command.is_indirect();
  if (out.is_indirect) out.counts = place_of(command.counts());
  out.first_argument = static_cast<uint32_t>(program_.arguments.size());
  out.argument_count = static_cast<uint32_t>(command.bindings().size());
  out.uses_argument_buffer = out.argument_count > max_direct_buffers;
  for (const Range& range : command.bindings()) {
    Place place = place_of(range);
    if (range.size == 0) place.offset = 0;  // Metal refuses to bind the very end of a buffer
    program_.arguments.push_back({place, static_cast<Access>(range.tag)});
  }
  add_uses(out, command);
  out.first_constant = static_cast<uint32_t>(program_.constants.size());
  const auto bytes = command.constants();
  program_.constants.insert(program_.constants.end(), bytes.begin(), bytes.end());
  program_.constants.resize((program_.constants.size() + block_bytes - 1) / block_bytes * block_bytes);
  out.constant_bytes = static_cast<uint32_t>(program_.constants.size()) - out.first_constant;
  out.first_named = static_cast<uint32_t>(program_.named.size());
  out.named_count = command.named_count;
  program_.named.insert(program_.named.end(), command.named().begin(), command.named().end());
  step(Step::Kind::dispatch, static_cast<uint32_t>(program_.dispatches.size()));
  program_.dispatches.push_back(out);
  ++program_.stats.dispatches;
  note_writes(command);
}

}  // namespace pianola::backend::metal
