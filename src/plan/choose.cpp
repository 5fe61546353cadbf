// SPDX-License-Identifier: Apache-2.0
// Native node or built-in kernel, and what a node costs, from the device's cost table.
#include "plan/choose.hpp"

#include <algorithm>
#include <cmath>

namespace pianola::plan {
namespace {

constexpr Ticks max_ticks = 1'000'000'000'000;

}  // namespace

Ticks to_ticks(double us) {
  if (!(us > 0)) return 0;
  return us < 1e6 ? static_cast<Ticks>(std::llround(us * 1e6)) : max_ticks;
}

Ticks Costs::Cost::of(uint64_t bytes) const {
  const uint64_t bounded = std::min(bytes, uint64_t{1} << 40);
  const Ticks whole = (bounded >> 20) * per_mib;
  const Ticks part = ((bounded & 0xfffff) * per_mib) >> 20;
  return std::min(fixed + whole + part, max_ticks);
}

Costs::Costs(const DeviceProfile& profile)
    : fill_{Cost(profile.fill_native), Cost(profile.fill_kernel)},
      copy_{Cost(profile.copy_native), Cost(profile.copy_kernel)},
      update_{Cost(profile.update_native), Cost(profile.update_kernel)},
      dispatch_(profile.dispatch),
      edge_(to_ticks(profile.edge_us)) {}

Ticks Costs::cheaper(const Forms& forms, uint64_t bytes, PlanNode& node) {
  const Ticks native = forms.native.of(bytes);
  const Ticks kernel = forms.kernel.of(bytes);
  node.as_kernel = kernel < native;
  node.kind = node.as_kernel ? WorkKind::compute : WorkKind::transfer;
  return std::min(native, kernel);
}

Ticks Costs::choose(PlanNode& node) const {
  const CommandHeader& command = *node.command;
  switch (command.op) {
    case Op::fill: return cheaper(fill_, as<Fill>(command).destination.size, node);
    case Op::copy: return cheaper(copy_, as<Copy>(command).destination.size, node);
    case Op::update: return cheaper(update_, as<Update>(command).destination.size, node);
    case Op::dispatch:
    case Op::dispatch_indirect: {
      const auto& dispatch = as<DispatchCommand>(command);
      if (dispatch.expected_us > 0) return to_ticks(static_cast<double>(dispatch.expected_us));
      if (dispatch_.per_mib == 0) return dispatch_.fixed;
      uint64_t bytes = 0;
      for (const Range& range : dispatch.bindings()) bytes += std::min(range.size, uint64_t{1} << 40);
      return dispatch_.of(bytes);
    }
    case Op::collective: {
      const auto& collective = as<CollectiveCommand>(command);
      return dispatch_.of(std::max(collective.send.size, collective.receive.size));
    }
    case Op::barrier:
    case Op::execute:
    case Op::signal_event:
    case Op::wait_event:
    case Op::reset_event:
    case Op::discard:
    case Op::begin_group:
    case Op::end_group: break;
  }
  return 0;
}

}  // namespace pianola::plan
