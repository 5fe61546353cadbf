// SPDX-License-Identifier: Apache-2.0
// Joins neighbouring fills, updates and copies into one where the result is the same in any order.
#pragma once

#include "base/pool.hpp"
#include "plan/flatten.hpp"

namespace pianola::plan {

/// Joins in place, and writes the joined commands to `records`. Only commands with no cut between them and of
/// one debug group are joined. Returns how many commands were joined to an earlier one. Throws std::bad_alloc.
uint32_t merge(FlatList& list, const CommandBuffer::Data& recording, Pool& records);

}  // namespace pianola::plan
