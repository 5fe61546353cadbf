// SPDX-License-Identifier: Apache-2.0
// Judges a plan: every command that does work is in exactly one node, every pair that must be ordered is, and
// every order that the plan allows gives the list's result.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reference_list.hpp"

namespace pianola::reference {

/// Which node of the plan each step became; none for those that do nothing.
using Cover = std::vector<std::optional<uint32_t>>;

/// The first thing that is wrong, or nothing.
std::optional<std::string> find_fault(const List& list, const Plan& plan, Ordering ordering);

/// The node that each step became, or nothing if the nodes are not those of the list.
std::optional<Cover> match(const List& list, const Plan& plan);

/// before[b][a]: the plan orders node a before node b.
std::vector<std::vector<bool>> reachability(const Plan::Data& plan);

/// Runs the nodes in every order the plan allows if there are up to 7, else in 20 seeded ones. Only for lists
/// whose result is determined. Gives the first order whose result differs.
std::optional<std::string> find_wrong_order(const List& list, const Plan& plan, uint64_t seed);

}  // namespace pianola::reference
