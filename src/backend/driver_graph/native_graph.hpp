// SPDX-License-Identifier: Apache-2.0
// One piece of a plan as the driver's graph, with one set of bindings in it.
#pragma once

#include <memory>

#include "backend/driver_graph/calls.hpp"

namespace pianola::driver_graph {

class NativeGraph {
 public:
  /// Adds every node with the plan's edges and instantiates. On any failure nothing is left.
  static Result<std::unique_ptr<NativeGraph>> build(const Lowered& lowered, const Piece& piece, const Values& values);

  /// Puts new values into the nodes of the operations listed, which are increasing. After a failure the graph
  /// must not be launched again.
  Result<> update(const Lowered& lowered, std::span<const uint32_t> operations, const Values& values);
  Result<> launch(Stream stream) const;
  GraphObject native() const { return graph_.get(); }
  /// Writes the driver's own picture of the graph. Errors: unsupported.
  Result<> write_dot(const std::string& path) const;

 private:
  explicit NativeGraph(DriverRef driver) : driver_(std::move(driver)) {}
  DriverRef driver_;
  Piece piece_;
  UniqueGraph graph_;  // nodes are handles into it, so it lives as long as the executable
  std::vector<Node> nodes_;
  UniqueExec exec_;
};

}  // namespace pianola::driver_graph
