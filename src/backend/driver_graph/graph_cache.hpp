// SPDX-License-Identifier: Apache-2.0
// The executable graphs of one plan, keyed by the bindings they hold.
#pragma once

#include <atomic>
#include <mutex>

#include "backend/driver_graph/native_graph.hpp"

namespace pianola::driver_graph {

/// All graph pieces of a plan with one set of values.
struct BoundGraphs {
  Values values;
  std::weak_ptr<const backend::Bindings> origin;     ///< where the values came from, to know them again at once
  std::vector<std::unique_ptr<NativeGraph>> pieces;  ///< null for indirect pieces
  uint64_t last_use = 0;
};

class GraphCache {
 public:
  explicit GraphCache(std::shared_ptr<const Lowered> lowered) : lowered_(std::move(lowered)) {}

  /// Graphs with these bindings: those that hold them already, else idle ones updated, else new ones.
  /// Who holds the result keeps it from being updated, unless the driver allows that in flight.
  /// Call launch() before the next get() on any thread, or hold the lock that lock() gives around both.
  Result<std::shared_ptr<BoundGraphs>> get(const std::shared_ptr<const backend::Bindings>& bindings);
  std::unique_lock<std::mutex> lock() { return std::unique_lock(mutex_); }

  /// The graphs used last, or null. Hold the lock.
  const BoundGraphs* newest() const;

  uint64_t built() const { return built_; }
  uint64_t updated() const { return updated_; }

 private:
  static constexpr size_t most = 4;
  Result<std::shared_ptr<BoundGraphs>> build(Values values);
  Result<bool> update(BoundGraphs& graphs, const Values& values);
  std::vector<uint32_t> touched(const Values& before, const Values& after) const;

  std::shared_ptr<const Lowered> lowered_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<BoundGraphs>> graphs_;
  uint64_t clock_ = 0;
  std::atomic<uint64_t> built_{0};
  std::atomic<uint64_t> updated_{0};
};

}  // namespace pianola::driver_graph
