// SPDX-License-Identifier: Apache-2.0
// Debug groups for the vendor's profiler: ranges around the calls that put a group's commands into a graph or on a
// stream. Without the profiler's library they do nothing.
#pragma once

#include <map>
#include <span>
#include <string>

#include "backend/driver_graph/call.hpp"

namespace pianola::driver_graph {

/// NVTX or roctx: functions that both libraries have under names of their own.
struct Markers {
  int (*push)(const char* label) = nullptr;
  int (*pop)() = nullptr;

  /// The first of the libraries that is there and has both functions; empty if none is.
  static Markers load(std::span<const char* const> libraries, const char* push, const char* pop);
};

struct Lowered;
struct Operation;

/// Follows the groups of operations that come one after another, and leaves all of them at the end.
class MarkedGroups {
 public:
  MarkedGroups(const Markers& markers, const Lowered& lowered) : markers_(markers), lowered_(lowered) {}
  ~MarkedGroups() { leave(0); }
  MarkedGroups(const MarkedGroups&) = delete;
  MarkedGroups& operator=(const MarkedGroups&) = delete;
  void enter(const Operation& operation);

 private:
  void leave(size_t depth);
  const Markers& markers_;
  const Lowered& lowered_;
  std::vector<uint32_t> open_;  ///< groups, outermost first
};

}  // namespace pianola::driver_graph
