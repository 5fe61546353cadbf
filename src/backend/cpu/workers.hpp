// SPDX-License-Identifier: Apache-2.0
// Runs a program's segments on several threads. The only place that hands work to oneTBB.
//
// A segment is started by whoever completes the last one it waits for, so no thread ever waits for a segment, and
// one thread alone gets through as well.
#pragma once

#include <cstdint>
#include <memory>

#include "backend/cpu/run.hpp"

namespace pianola::backend::cpu {

/// What a replay in flight needs beside the program; reused by later replays of it.
class SegmentState;
struct DeleteSegmentState {
  void operator()(SegmentState* state) const;
};
using SegmentStatePtr = std::unique_ptr<SegmentState, DeleteSegmentState>;

/// Throws std::bad_alloc.
SegmentStatePtr make_segment_state(const Program& program);

class Workers {
 public:
  /// `threads`: the calling one included; those over the number of cores count for nothing.
  explicit Workers(uint32_t threads);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// Returns when all segments are done. Several calls may run at the same time, each with its own state.
  void run(Replay& replay, SegmentState& state);

 private:
  struct Arena;
  std::unique_ptr<Arena> arena_;
};

}  // namespace pianola::backend::cpu
