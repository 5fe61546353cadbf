// SPDX-License-Identifier: Apache-2.0
// Native node or built-in kernel, and what a node costs, from the device's cost table.
#pragma once

#include <cstdint>

#include "plan/plan_data.hpp"

namespace pianola::plan {

/// Times as whole picoseconds, so that plans are the same on every machine.
using Ticks = uint64_t;

/// Microseconds as ticks; negative and absent times are 0, and none is over a second.
Ticks to_ticks(double us);

/// A device's cost table in ticks.
class Costs {
 public:
  explicit Costs(const DeviceProfile& profile);

  /// Decides how the node runs, and gives its cost. The cheaper form wins; the native one on a tie.
  Ticks choose(PlanNode& node) const;
  Ticks edge() const { return edge_; }

 private:
  struct Cost {
    explicit Cost(const NodeCost& cost) : fixed(to_ticks(cost.fixed_us)), per_mib(to_ticks(cost.us_per_mib)) {}
    Ticks of(uint64_t bytes) const;
    Ticks fixed;
    Ticks per_mib;
  };
  struct Forms {
    Cost native;
    Cost kernel;
  };
  static Ticks cheaper(const Forms& forms, uint64_t bytes, PlanNode& node);

  Forms fill_;
  Forms copy_;
  Forms update_;
  Cost dispatch_;
  Ticks edge_;
};

}  // namespace pianola::plan
