// SPDX-License-Identifier: Apache-2.0
#include "backend/metal/lower.hpp"

#include <algorithm>

#include "backend/metal/emit.hpp"
#include "backend/metal/group.hpp"
#include "backend/metal/waves.hpp"
#include "plan/plan_data.hpp"

namespace pianola::backend::metal {
namespace {

double cost_of(const NodeCost& cost, uint64_t bytes) {
  return cost.fixed_us + static_cast<double>(bytes) * cost.us_per_mib / (1 << 20);
}

bool is_one_byte(const Fill& fill) {
  const auto begin = fill.pattern.begin();
  return std::all_of(begin, begin + fill.destination.tag, [&](std::byte byte) { return byte == fill.pattern[0]; });
}

class Lowering {
 public:
  Lowering(const Plan& plan, const Target& target)
      : plan_(*plan.data()),
        commands_(*plan_.commands.data()),
        waves_(waves_of(plan_)),
        target_(target),
        emit_(program_, plan_, target.most_groups, commands_per_buffer()) {
    program_.plan = plan;
  }
  Result<Program> run();

 private:
  size_t commands_per_buffer() const;
  bool is_aligned(const Range& range) const;
  Candidate candidate_of(const PlanNode& node) const;
  void lower_wave(size_t wave, const Grouping& grouping);
  void lower_part(size_t wave, const Grouping& grouping, bool blits);
  void sync_before(size_t wave);

  Program program_;
  const Plan::Data& plan_;
  const CommandBuffer::Data& commands_;
  const WaveOrder waves_;
  const Target& target_;
  Emitter emit_;
};

size_t Lowering::commands_per_buffer() const {
  const size_t least = (waves_.order.size() + max_command_buffers - 1) / max_command_buffers;
  return std::max<size_t>(least, target_.commands_per_buffer);
}

/// Whether a blit may write or read this range wherever its slot is bound.
bool Lowering::is_aligned(const Range& range) const {
  const uint64_t unit = target_.blit_alignment;
  const auto& slot = commands_.slots[static_cast<uint32_t>(range.slot)];
  return slot.alignment % unit == 0 && range.offset % unit == 0 && range.size % unit == 0;
}

Candidate Lowering::candidate_of(const PlanNode& node) const {
  const DeviceProfile& p = target_.profile;
  switch (node.command->op) {
    case Op::fill: {
      const auto& fill = as<Fill>(*node.command);
      const uint64_t size = fill.destination.size;
      return {false, is_one_byte(fill) && is_aligned(fill.destination), cost_of(p.fill_native, size),
              cost_of(p.fill_kernel, size)};
    }
    case Op::copy: {
      const auto& copy = as<Copy>(*node.command);
      const uint64_t size = copy.destination.size;
      return {false, is_aligned(copy.destination) && is_aligned(copy.source), cost_of(p.copy_native, size),
              cost_of(p.copy_kernel, size)};
    }
    case Op::update: {
      const auto& update = as<Update>(*node.command);
      const uint64_t size = update.destination.size;
      return {false, is_aligned(update.destination), cost_of(p.update_native, size), cost_of(p.update_kernel, size)};
    }
    default: return {true, false, 0, 0};
  }
}

void Lowering::sync_before(size_t wave) {
  if (wave != 0 && target_.concurrent) emit_.sync(ranges_before(plan_, wave));
}

void Lowering::lower_part(size_t wave, const Grouping& grouping, bool blits) {
  for (uint32_t i = waves_.first[wave]; i < waves_.first[wave + 1]; ++i) {
    if (grouping.is_blit[i] == blits) emit_.node(plan_.nodes[static_cast<uint32_t>(waves_.order[i])], blits);
  }
}

void Lowering::lower_wave(size_t wave, const Grouping& grouping) {
  sync_before(wave);
  const bool blits_last = grouping.layouts[wave] == Layout::compute_then_blit;
  lower_part(wave, grouping, !blits_last);
  lower_part(wave, grouping, blits_last);
}

Result<Program> Lowering::run() {
  std::vector<Candidate> candidates;
  candidates.reserve(waves_.order.size());
  for (const NodeId id : waves_.order) {
    const PlanNode& node = plan_.nodes[static_cast<uint32_t>(id)];
    if (node.command->op == Op::collective) {
      return Error{.code = Errc::unsupported, .message = "Metal devices have no collectives", .command = node.source};
    }
    candidates.push_back(candidate_of(node));
  }
  const Grouping grouping = choose_encoders(candidates, waves_.first, target_.profile);
  for (size_t wave = 0; wave + 1 < waves_.first.size(); ++wave) lower_wave(wave, grouping);
  return std::move(program_);
}

}  // namespace

Result<Program> lower(const Plan& plan, const Target& target) {
  return Lowering(plan, target).run();
}

}  // namespace pianola::backend::metal
