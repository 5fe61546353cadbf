// SPDX-License-Identifier: Apache-2.0
// Replays operations on streams: a lane is a stream, an edge an event.
#pragma once

#include "backend/driver_graph/calls.hpp"
#include "backend/driver_graph/timeline.hpp"

namespace pianola::driver_graph {

/// The streams and events of one queue. One thread at a time issues on them.
class StreamSet {
 public:
  /// Around a main stream that the caller owns, or makes one.
  static Result<std::unique_ptr<StreamSet>> create(const DriverRef& driver, Stream main);
  Stream main() const { return streams_.front(); }

  /// Issues the piece; everything on the main stream so far comes before it, everything later after it.
  /// Dispatches with a count of 0 are left out. The device is current.
  /// With a timeline, each operation is marked in it.
  Result<> replay(const Lowered& lowered, const Piece& piece, const Values& values, Timeline* timeline);

  /// Reads the counts of the piece's indirect dispatches on the host and launches those within `limits`.
  /// Blocks. Gives the first error of counts that were over the limit, as `over_limit`.
  struct IndirectOutcome {
    std::optional<Error> over_limit;
  };
  Result<IndirectOutcome> run_indirect(const Lowered& lowered, const Piece& piece, const Values& values,
                                       Timeline* timeline);

 private:
  explicit StreamSet(DriverRef driver) : driver_(std::move(driver)) {}
  Result<> grow(size_t streams, size_t events);
  Result<> fork(uint32_t lanes);
  Result<> join(uint32_t lanes);
  Result<> issue_all(const Lowered& lowered, const Piece& piece, const Values& values,
                     const std::vector<uint32_t>& event, Timeline* timeline);
  Result<> issue(CallMaker& calls, const Operation& operation, Stream stream);
  Result<> read_counts(const Lowered& lowered, const Piece& piece, const CallMaker& calls);

  DriverRef driver_;
  std::vector<Stream> streams_;  // the main one first
  std::vector<UniqueStream> owned_;
  std::vector<UniqueEvent> events_;
  UniqueHostMemory counts_;
  size_t counts_size_ = 0;
};

}  // namespace pianola::driver_graph
