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

/// Metal refuses to bind the very end of a buffer, where empty ranges may lie.
Place place_in_set(const Range& range) {
  return {static_cast<uint32_t>(range.slot), range.size == 0 ? 0 : range.offset};
}

Place bound_place(const Range& range) {
  return range.size == 0 ? Place{nothing_slot, 0} : place_of(range);
}

bool overlap(const Range& a, const Range& b) {
  return a.slot == b.slot && a.offset < b.offset + b.size && b.offset < a.offset + a.size;
}

}  // namespace

KernelKey builtin_key(std::string_view name) {
  return {KernelKey::builtin, builtin_kernels().find(name).value_or(0)};
}

/// Adds the command at `index`, which is the last of its kind, to the step before if that is of the same kind.
void Emitter::add(Step::Kind kind, size_t index) {
  if (!program_.steps.empty()) {
    Step& last = program_.steps.back();
    if (last.kind == kind && last.group == node_->group) {
      ++last.count;
      return;
    }
  }
  program_.steps.push_back({.kind = kind, .first = static_cast<uint32_t>(index), .count = 1, .group = node_->group});
}

/// For one more command. What follows a full command buffer is ordered after it as after another encoder.
void Emitter::make_room() {
  auto& buffers = program_.stats.command_buffers;
  if (buffers == 0) buffers = 1;
  if (in_buffer_ == commands_per_buffer_) {
    program_.steps.push_back({.kind = Step::Kind::command_buffer});
    ++buffers;
    open_ = Open::none;
    in_buffer_ = 0;
  }
  ++in_buffer_;
}

void Emitter::open(Open kind) {
  if (open_ == kind) return;
  const bool is_blit = kind == Open::blit;
  program_.steps.push_back({.kind = is_blit ? Step::Kind::blit_encoder : Step::Kind::compute_encoder});
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
  make_room();
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
    add(Step::Kind::blits, program_.blits.size());
    const auto value = static_cast<uint8_t>(fill.pattern[0]);
    program_.blits.push_back({.is_fill = true, .value = value, .to = place_of(to), .size = to.size});
    ++program_.stats.blits;
    return;
  }
  LateBuiltin what{.is_fill = true, .to = place_of(to), .size = to.size, .pattern = fill.pattern};
  what.pattern_size = to.tag;
  builtin(what);
}

void Emitter::copy(const Place& to, const Place& from, uint64_t size, bool as_blit) {
  if (as_blit) {
    add(Step::Kind::blits, program_.blits.size());
    program_.blits.push_back({.from = from, .to = to, .size = size});
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
  for_each_piece(what, [this](const LateBuiltin& piece) { builtin_piece(piece); });
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
    add(Step::Kind::late, program_.late.size());
    program_.late.push_back(what);
    return;
  }
  const BuiltinDispatch builtin =
      what.is_fill ? builtin_fill(what.to.offset, what.size, std::span(what.pattern).first(what.pattern_size))
                   : builtin_copy(what.to.offset, what.from.offset, what.size);
  add(Step::Kind::dispatches, program_.dispatches.size());
  program_.dispatches.push_back(builtin_step(builtin, what, program_.places, program_.constants));
  program_.dispatches.back().kernel = kernel_index(builtin_key(builtin.kernel));
}

DispatchStep builtin_step(const BuiltinDispatch& builtin, const LateBuiltin& what, std::vector<Place>& places,
                          std::vector<std::byte>& constants) {
  DispatchStep out;
  out.groups[0] = builtin.groups;
  out.first_place = static_cast<uint32_t>(places.size());
  const auto add_twice = [&](Place place, uint64_t block_offset) {
    places.push_back(place);
    place.offset += block_offset;
    places.push_back(builtin.has_blocks() ? place : Place{nothing_slot, 0});
  };
  if (!what.is_fill) add_twice(what.from, builtin.source_block_offset);
  add_twice(what.to, builtin.block_offset);
  out.place_count = static_cast<uint16_t>(places.size() - out.first_place);
  const auto bytes = std::as_bytes(std::span(builtin.constants));
  out.first_constant = static_cast<uint32_t>(constants.size());
  constants.insert(constants.end(), bytes.begin(), bytes.end());
  constants.resize((constants.size() + block_bytes - 1) / block_bytes * block_bytes);
  out.constant_bytes = static_cast<uint16_t>(constants.size() - out.first_constant);
  return out;
}

uint32_t Emitter::kernel_index(KernelKey key) {
  const auto found = std::ranges::find(program_.kernels, key);
  if (found != program_.kernels.end()) return static_cast<uint32_t>(found - program_.kernels.begin());
  program_.kernels.push_back(key);
  program_.kernel_sources.push_back(node_->source);
  return static_cast<uint32_t>(program_.kernels.size() - 1);
}

/// Counts may be read as early as when the encoder starts, so their producer sits in an earlier one.
bool Emitter::needs_earlier_encoder(const Range& counts) const {
  const bool may_alias = commands_.slots[static_cast<uint32_t>(counts.slot)].may_alias;
  return written_anywhere_ || std::ranges::any_of(written_, [&](const Range& range) {
           const auto slot = static_cast<uint32_t>(range.slot);
           return overlap(range, counts) || (may_alias && commands_.slots[slot].may_alias);
         });
}

bool Emitter::is_opaque(const DispatchCommand& command) const {
  return commands_.libraries[command.library].kernels()[command.entry].opaque;
}

void Emitter::note_writes(const DispatchCommand& command) {
  for (const Range& range : command.bindings()) {
    if (writes(static_cast<Access>(range.tag))) written_.push_back(range);
  }
  for (const Range& range : command.uses()) {
    if (writes(static_cast<Access>(range.tag))) written_.push_back(range);
  }
  written_anywhere_ = written_anywhere_ || is_opaque(command);
}

/// Padded to 16. The bytes that the dispatch before has are not stored again.
void Emitter::add_constants(DispatchStep& out, std::span<const std::byte> bytes) {
  auto& all = program_.constants;
  const size_t padded = (bytes.size() + block_bytes - 1) / block_bytes * block_bytes;
  out.constant_bytes = static_cast<uint16_t>(padded);
  if (!program_.dispatches.empty()) {
    const DispatchStep& last = program_.dispatches.back();
    out.first_constant = last.first_constant;
    const bool is_same = last.constant_bytes == padded &&
                         std::ranges::equal(std::span(all).subspan(last.first_constant, bytes.size()), bytes);
    if (is_same) return;
  }
  out.first_constant = static_cast<uint32_t>(all.size());
  all.insert(all.end(), bytes.begin(), bytes.end());
  all.resize(out.first_constant + padded);
}

void Emitter::add_bindings(DispatchStep& out, const DispatchCommand& command) {
  out.first_place = static_cast<uint32_t>(program_.places.size());
  if (command.bindings().size() > max_direct_buffers) return;  // they go into an argument set
  out.place_count = static_cast<uint16_t>(command.bindings().size());
  for (const Range& range : command.bindings()) program_.places.push_back(bound_place(range));
}

/// The set of these bindings, known or new.
uint32_t Emitter::argument_set(uint32_t kernel, const DispatchCommand& command) {
  std::vector<Argument> arguments;
  for (const Range& range : command.bindings()) {
    arguments.push_back({place_in_set(range), static_cast<Access>(range.tag)});
  }
  auto& all = program_.arguments;
  const auto next = static_cast<uint32_t>(program_.argument_sets.size());
  const auto [known, is_new] = argument_sets_.try_emplace({kernel, arguments}, next);
  if (is_new) {
    program_.argument_sets.push_back(
        {kernel, static_cast<uint32_t>(all.size()), static_cast<uint32_t>(arguments.size())});
    all.insert(all.end(), arguments.begin(), arguments.end());
  }
  return known->second;
}

/// An opaque kernel may follow a pointer to any slot. Metal makes resident, and keeps in order across encoders, what it
/// is told of.
uint32_t Emitter::use_of_everything() {
  if (!all_slots_) {
    all_slots_ = static_cast<uint32_t>(program_.uses.size());
    for (uint32_t slot = 0; slot < commands_.slots.size(); ++slot) program_.uses.push_back({{slot, 0}, Access::inout});
  }
  return *all_slots_;
}

DispatchExtra Emitter::extra_of(const DispatchStep& out, const DispatchCommand& command) {
  DispatchExtra extra;
  extra.named_groups = command.header.flags & 7U;
  extra.is_indirect = command.is_indirect();
  if (extra.is_indirect) extra.counts = place_of(command.counts());
  if (command.bindings().size() > max_direct_buffers) extra.argument_set = argument_set(out.kernel, command);
  extra.first_use = static_cast<uint32_t>(program_.uses.size());
  extra.use_count = command.use_count;
  if (is_opaque(command)) {
    extra.first_use = use_of_everything();
    extra.use_count = static_cast<uint32_t>(commands_.slots.size());
  } else {
    for (const Range& range : command.uses()) {
      program_.uses.push_back({place_of(range), static_cast<Access>(range.tag)});
    }
  }
  extra.first_named = static_cast<uint32_t>(program_.named.size());
  extra.named_count = command.named_count;
  program_.named.insert(program_.named.end(), command.named().begin(), command.named().end());
  return extra;
}

/// A kernel checks the counts in this encoder, and the next one reads what it lets through.
Place Emitter::checked_counts(const Range& counts) {
  flush_barrier();
  const Place checked{checks_slot, program_.checks.size() * checked_counts_bytes};
  program_.checks.push_back(node_->source);
  const BuiltinDispatch builtin = builtin_check_counts(*most_groups_);
  DispatchStep out;
  out.kernel = kernel_index(builtin_key(builtin.kernel));
  out.first_place = static_cast<uint32_t>(program_.places.size());
  out.place_count = 2;
  program_.places.insert(program_.places.end(), {place_of(counts), checked});
  add_constants(out, std::as_bytes(std::span(builtin.constants)));
  add(Step::Kind::dispatches, program_.dispatches.size());
  program_.dispatches.push_back(out);
  ++program_.stats.dispatches;
  open_ = Open::none;
  open(Open::compute);
  return checked;
}

void Emitter::dispatch(const DispatchCommand& command) {
  std::optional<Place> checked;
  if (command.is_indirect() && most_groups_) {
    checked = checked_counts(command.counts());
  } else if (command.is_indirect() && needs_earlier_encoder(command.counts())) {
    open_ = Open::none;
    open(Open::compute);
  }
  flush_barrier();
  DispatchStep out;
  out.kernel = kernel_index({command.library, command.entry});
  out.groups = command.groups;
  add_bindings(out, command);
  add_constants(out, command.constants());
  const bool is_plain = (command.header.flags & 7U) == 0 && !command.is_indirect() && command.use_count == 0 &&
                        command.named_count == 0 && command.bindings().size() <= max_direct_buffers &&
                        !is_opaque(command);
  if (!is_plain) {
    out.extra = static_cast<uint32_t>(program_.extras.size());
    program_.extras.push_back(extra_of(out, command));
    if (checked) program_.extras.back().counts = *checked;
  }
  add(Step::Kind::dispatches, program_.dispatches.size());
  program_.dispatches.push_back(out);
  ++program_.stats.dispatches;
  note_writes(command);
}

}  // namespace pianola::backend::metal
