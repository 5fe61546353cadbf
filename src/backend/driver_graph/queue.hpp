// SPDX-License-Identifier: Apache-2.0
// A queue over one main stream. Jobs are issued in order without waiting for the device; flights.hpp completes them.
#pragma once

#include "backend/backend.hpp"
#include "backend/driver_graph/flights.hpp"
#include "backend/host_queue.hpp"

namespace pianola::driver_graph {

class GraphQueue final : public backend::CommandQueue {
 public:
  /// On a stream that the caller owns and keeps alive, or on one of its own.
  explicit GraphQueue(const DriverRef& driver, Stream stream = nullptr);
  ~GraphQueue() override;
  GraphQueue(const GraphQueue&) = delete;
  GraphQueue& operator=(const GraphQueue&) = delete;

  void submit(backend::Job job) noexcept override { issuing_->submit(std::move(job)); }

  /// The stream that work is issued on. Errors: those of making it.
  Result<Stream> native() const;

 private:
  struct State;
  static std::optional<Error> issue(State& state, backend::Job& job, std::optional<Error> failed);
  static Result<std::list<Flight>> put_on_stream(State& state, const backend::Job& job,
                                                 const std::vector<Promise>& promises);

  std::shared_ptr<State> state_;
  std::unique_ptr<backend::HostQueue> issuing_;  ///< goes first
};

}  // namespace pianola::driver_graph
