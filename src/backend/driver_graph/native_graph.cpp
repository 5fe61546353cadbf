// SPDX-License-Identifier: Apache-2.0
#include "backend/driver_graph/native_graph.hpp"

#include "backend/driver_graph/markers.hpp"

namespace pianola::driver_graph {
namespace {

Result<Node> add_node(const DriverTable& table, GraphObject graph, std::span<const Node> after, CallMaker& calls,
                      const Operation& operation) {
  switch (operation.kind) {
    case OperationKind::fill: return table.add_fill(table.api, graph, after, calls.fill(operation));
    case OperationKind::copy: return table.add_copy(table.api, graph, after, calls.copy(operation));
    default: return table.add_kernel(table.api, graph, after, calls.kernel(operation));
  }
}

Result<> set_node(const DriverTable& table, Exec exec, Node node, CallMaker& calls, const Operation& operation) {
  switch (operation.kind) {
    case OperationKind::fill: return table.set_fill(table.api, exec, node, calls.fill(operation));
    case OperationKind::copy: return table.set_copy(table.api, exec, node, calls.copy(operation));
    default: return table.set_kernel(table.api, exec, node, calls.kernel(operation));
  }
}

}  // namespace

Result<std::unique_ptr<NativeGraph>> NativeGraph::build(const Lowered& lowered, const Piece& piece,
                                                        const Values& values) {
  const DriverTable& table = lowered.driver->table();
  std::unique_ptr<NativeGraph> made(new NativeGraph(lowered.driver));
  made->piece_ = piece;
  Result<GraphObject> graph = table.graph_create(table.api);
  if (!graph) return graph.error();
  made->graph_ = UniqueGraph(lowered.driver, *graph);
  made->nodes_.reserve(piece.end - piece.begin);
  CallMaker calls(lowered, values);
  const bool has_edges = table.quirks.edges && lowered.lanes <= table.quirks.most_lanes;
  std::vector<Node> after;
  MarkedGroups groups(table.markers, lowered);
  for (uint32_t i = piece.begin; i < piece.end; ++i) {
    groups.enter(lowered.operations[i]);
    after.clear();
    if (!has_edges && i > piece.begin) after.push_back(made->nodes_.back());
    for (const uint32_t dep : lowered.deps_of(i)) {
      // Earlier pieces are done before this graph starts.
      if (has_edges && dep >= piece.begin) after.push_back(made->nodes_[dep - piece.begin]);
    }
    Result<Node> node = add_node(table, *graph, after, calls, lowered.operations[i]);
    if (!node) {
      // Nodes may have been added in spite of the error, so the whole graph goes.
      node.error().command = lowered.operations[i].source;
      return node.error();
    }
    made->nodes_.push_back(*node);
  }
  Result<Exec> exec = table.instantiate(table.api, *graph);
  if (!exec) return exec.error();
  made->exec_ = UniqueExec(lowered.driver, *exec);
  return made;
}

Result<> NativeGraph::update(const Lowered& lowered, std::span<const uint32_t> operations, const Values& values) {
  CallMaker calls(lowered, values);
  for (const uint32_t at : operations) {
    if (at < piece_.begin || at >= piece_.end) continue;
    Result<> done = set_node(driver_->table(), exec_.get(), nodes_[at - piece_.begin], calls, lowered.operations[at]);
    if (!done) return done;
  }
  return {};
}

Result<> NativeGraph::launch(Stream stream) const {
  return driver_->table().exec_launch(driver_->table().api, exec_.get(), stream);
}

Result<> NativeGraph::write_dot(const std::string& path) const {
  const DriverTable& table = driver_->table();
  if (table.graph_dot == nullptr) return Error{Errc::unsupported, "this driver does not print graphs", {}, {}, 0};
  return table.graph_dot(table.api, graph_.get(), path);
}

}  // namespace pianola::driver_graph
