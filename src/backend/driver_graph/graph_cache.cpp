// SPDX-License-Identifier: Apache-2.0
#include "backend/driver_graph/graph_cache.hpp"

#include <algorithm>

namespace pianola::driver_graph {
namespace {

bool is_same(const std::weak_ptr<const backend::Bindings>& a, const std::shared_ptr<const backend::Bindings>& b) {
  return !a.owner_before(b) && !b.owner_before(a);
}

}  // namespace

Result<std::shared_ptr<BoundGraphs>> GraphCache::get(const std::shared_ptr<const backend::Bindings>& bindings) {
  ++clock_;
  for (const auto& graphs : graphs_) {
    if (!is_same(graphs->origin, bindings)) continue;
    graphs->last_use = clock_;
    return graphs;
  }
  Values values = Values::of(*bindings);
  std::shared_ptr<BoundGraphs> oldest;
  for (const auto& graphs : graphs_) {
    if (graphs->values == values) {
      graphs->origin = bindings;
      graphs->last_use = clock_;
      return graphs;
    }
    const Quirks& quirks = lowered_->driver->table().quirks;
    // The cache's own reference is the only one of graphs that are not in flight; `oldest` may be the second.
    const bool usable = quirks.update && (quirks.update_in_flight || graphs.use_count() == 1);
    if (usable && (oldest == nullptr || graphs->last_use < oldest->last_use)) oldest = graphs;
  }
  // Few sets of bindings that alternate are worth a graph each; for more, the oldest is changed.
  if (oldest != nullptr && graphs_.size() >= 2) {
    // A half-updated graph is of no more use, however the update ends early.
    std::erase(graphs_, oldest);
    Result<bool> changed = update(*oldest, values);
    if (changed) {
      oldest->origin = bindings;
      oldest->last_use = clock_;
      graphs_.push_back(oldest);
      return oldest;
    }
    if (lowered_->driver->lost()) return changed.error();
  }
  Result<std::shared_ptr<BoundGraphs>> made = build(std::move(values));
  if (!made) return made;
  if (graphs_.size() >= most) {
    graphs_.erase(std::min_element(graphs_.begin(), graphs_.end(),
                                   [](const auto& a, const auto& b) { return a->last_use < b->last_use; }));
  }
  (*made)->origin = bindings;
  (*made)->last_use = clock_;
  graphs_.push_back(*made);
  return made;
}

const BoundGraphs* GraphCache::newest() const {
  const auto at = std::max_element(graphs_.begin(), graphs_.end(),
                                   [](const auto& a, const auto& b) { return a->last_use < b->last_use; });
  return at == graphs_.end() ? nullptr : at->get();
}

Result<std::shared_ptr<BoundGraphs>> GraphCache::build(Values values) {
  auto made = std::make_shared<BoundGraphs>();
  made->values = std::move(values);
  for (const Piece& piece : lowered_->pieces) {
    made->pieces.push_back(nullptr);
    if (piece.is_indirect) continue;
    Result<std::unique_ptr<NativeGraph>> graph = NativeGraph::build(*lowered_, piece, made->values);
    if (!graph) return lowered_->driver->note(std::move(graph.error()));
    made->pieces.back() = std::move(*graph);
  }
  ++built_;
  return made;
}

std::vector<uint32_t> GraphCache::touched(const Values& before, const Values& after) const {
  std::vector<uint32_t> operations;
  const auto add = [&](const std::vector<uint32_t>& first, const std::vector<uint32_t>& list, size_t i) {
    operations.insert(operations.end(), list.begin() + first[i], list.begin() + first[i + 1]);
  };
  for (size_t slot = 0; slot < after.address.size(); ++slot) {
    if (before.address[slot] == after.address[slot] && before.on_host[slot] == after.on_host[slot]) continue;
    add(lowered_->first_of_slot, lowered_->operations_of_slot, slot);
  }
  for (uint32_t id = 0; id < after.constant_offset.size(); ++id) {
    const auto a = before.constant(id);
    const auto b = after.constant(id);
    if (std::equal(a.begin(), a.end(), b.begin(), b.end())) continue;
    add(lowered_->first_of_constant, lowered_->operations_of_constant, id);
  }
  std::sort(operations.begin(), operations.end());
  operations.erase(std::unique(operations.begin(), operations.end()), operations.end());
  return operations;
}

Result<bool> GraphCache::update(BoundGraphs& graphs, const Values& values) {
  const std::vector<uint32_t> operations = touched(graphs.values, values);
  for (const auto& piece : graphs.pieces) {
    if (piece == nullptr) continue;
    Result<> done = piece->update(*lowered_, operations, values);
    if (!done) return lowered_->driver->note(std::move(done.error()));
  }
  graphs.values = values;
  ++updated_;
  return true;
}

}  // namespace pianola::driver_graph
