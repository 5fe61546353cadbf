// SPDX-License-Identifier: Apache-2.0
// A plan made ready on a HIP or CUDA device: the driver's graphs, or the same operations on streams.
#pragma once

#include "backend/driver_graph/graph_cache.hpp"
#include "backend/driver_graph/stream_replay.hpp"

namespace pianola::driver_graph {

class GraphExecutable final : public backend::Executable {
 public:
  /// Errors: those of lower(), and of building the graphs if `defaults` are given.
  static Result<std::shared_ptr<GraphExecutable>> create(const DriverRef& driver, LibraryCache& libraries,
                                                         const Plan& plan, const InstantiateOptions& options,
                                                         const std::shared_ptr<const backend::Bindings>& defaults,
                                                         uint32_t lanes);

  /// True if a launch waits for the device, to read counts.
  bool blocks() const { return lowered_->has_indirect(); }

  struct Launch {
    std::shared_ptr<void> in_use;        ///< to be kept until the work is done
    std::optional<Error> over_limit;     ///< counts that launched nothing
    std::unique_ptr<Timeline> timeline;  ///< to be read when the work is done
  };
  /// Issues one replay on the queue's streams. The device is current. After an error some of it may be under way, for
  /// which `launch` counts too.
  Result<> launch(StreamSet& streams, const std::shared_ptr<const backend::Bindings>& bindings, Launch& launch);

  std::string describe() const override;
  /// The graphs used last, in order; none on streams.
  std::vector<GraphObject> native() const;

 private:
  GraphExecutable(std::shared_ptr<const Lowered> lowered, bool use_graphs, bool is_timed)
      : lowered_(std::move(lowered)), use_graphs_(use_graphs), is_timed_(is_timed), cache_(lowered_) {}
  std::string dot() const;

  std::shared_ptr<const Lowered> lowered_;
  bool use_graphs_;
  bool is_timed_;
  mutable GraphCache cache_;
};

}  // namespace pianola::driver_graph
