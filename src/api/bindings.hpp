// SPDX-License-Identifier: Apache-2.0
// Slots and named constants get their values: recorded, then given at instantiate, then at submit; the last wins.
#pragma once

#include <memory>
#include <span>

#include "api/impl.hpp"

namespace pianola {

/// Sets the graph's defaults from the buffers bound while recording and the options. They may leave slots open.
/// Errors: those of resolve_bindings() but `unbound`.
Result<> set_default_bindings(Graph::Impl& graph, const InstantiateOptions& options);

/// What one submission uses: the defaults, overridden by what is given. All or nothing.
/// Errors: invalid_argument (no such slot or constant, an empty buffer, one of another device), out_of_range (too
/// small), misaligned, mismatch (memory kind, size of a constant), overlap, unbound, limit_exceeded (group counts).
Result<std::shared_ptr<const backend::Bindings>> resolve_bindings(const Graph::Impl& graph,
                                                                  std::span<const SlotBinding> slots,
                                                                  std::span<const ConstantBinding> constants);

}  // namespace pianola
