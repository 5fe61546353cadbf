// SPDX-License-Identifier: Apache-2.0
// A plan as waves, whatever its form: lanes with edges become waves that everything before them is done for.
#pragma once

#include <span>
#include <vector>

#include "plan/plan_data.hpp"

namespace pianola::backend::metal {

/// Wave i is order[first[i], first[i + 1]).
struct WaveOrder {
  std::vector<NodeId> order;
  std::vector<uint32_t> first;
};

WaveOrder waves_of(const Plan::Data& plan);

/// What wave `wave` waits for, wave > 0. No ranges means everything.
std::span<const Range> ranges_before(const Plan::Data& plan, size_t wave);

}  // namespace pianola::backend::metal
