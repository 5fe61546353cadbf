// SPDX-License-Identifier: Apache-2.0
// When each operation of one submission ran: timed events around it on its own stream.
#pragma once

#include "backend/driver_graph/lowered.hpp"

namespace pianola::driver_graph {

class Timeline {
 public:
  explicit Timeline(std::shared_ptr<const Lowered> lowered) : lowered_(std::move(lowered)) {}

  /// Marks the beginning of all, on the main stream.
  Result<> start(Stream main) { return mark(main); }
  /// The operation is what is put on the stream between these two.
  Result<> begin(Stream stream) { return mark(stream); }
  Result<> end(Stream stream, uint32_t operation);

  /// Once everything is done; the device is current. Errors: those of reading events.
  Result<std::vector<CommandTime>> read() const;

 private:
  Result<> mark(Stream stream);

  std::shared_ptr<const Lowered> lowered_;
  std::vector<UniqueEvent> marks_;  ///< the start, then two an operation
  std::vector<uint32_t> operations_;
};

}  // namespace pianola::driver_graph
