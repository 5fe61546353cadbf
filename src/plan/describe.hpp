// SPDX-License-Identifier: Apache-2.0
// Parts of a plan in words, for the text and the Graphviz form.
#pragma once

#include <string>

#include "plan/plan_data.hpp"

namespace pianola::plan {

/// "fill x[0, 64) with 00000000 (as kernel)".
std::string describe_node(const Plan::Data& data, const PlanNode& node);

/// "decode / layer 3", from the outermost group on.
std::string describe_group(const Plan::Data& data, uint32_t group);

/// "sync compute -> transfer: x[0, 64), y[0, 4)".
std::string describe_sync(const Plan::Data& data, size_t sync);

}  // namespace pianola::plan
