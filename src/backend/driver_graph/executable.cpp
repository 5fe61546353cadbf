// SPDX-License-Identifier: Apache-2.0
#include "backend/driver_graph/executable.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>

namespace pianola::driver_graph {

Result<std::shared_ptr<GraphExecutable>> GraphExecutable::create(
    const DriverRef& driver, LibraryCache& libraries, const Plan& plan, const InstantiateOptions& options,
    const std::shared_ptr<const backend::Bindings>& defaults, uint32_t lanes) {
  Result<std::shared_ptr<const Lowered>> lowered = lower(driver, libraries, plan, lanes);
  if (!lowered) return lowered.error();
  // Building a graph costs more than issuing its work once.
  const bool use_graphs =
      options.native_graph && options.expected_replays > 1 && driver->table().quirks.graphs && !options.timestamps;
  std::shared_ptr<GraphExecutable> made(new GraphExecutable(std::move(*lowered), use_graphs, options.timestamps));
  if (!use_graphs || defaults == nullptr) return made;
  if (has_empty_dispatch(*made->lowered_, Values::of(*defaults))) return made;
  const ContextScope scope(*driver);
  if (!scope.status()) return scope.status().error();
  const auto lock = made->cache_.lock();
  Result<std::shared_ptr<BoundGraphs>> built = made->cache_.get(defaults);
  if (!built) return built.error();
  return made;
}

Result<> GraphExecutable::launch(StreamSet& streams, const std::shared_ptr<const backend::Bindings>& bindings,
                                 Launch& launch) {
  std::unique_lock<std::mutex> lock;
  std::shared_ptr<BoundGraphs> graphs;
  Values own;
  // A graph node cannot have an empty grid.
  const bool may_be_empty = !lowered_->operations_of_constant.empty();
  if (!use_graphs_ || may_be_empty || blocks()) own = Values::of(*bindings);
  const bool on_streams = !use_graphs_ || (may_be_empty && has_empty_dispatch(*lowered_, own));
  if (!on_streams) {
    lock = cache_.lock();
    Result<std::shared_ptr<BoundGraphs>> found = cache_.get(bindings);
    if (!found) return found.error();
    graphs = *found;
    launch.in_use = graphs;
    // While counts are read the lock must not be held: in_use alone protects graphs that do not change in flight.
    if (blocks() && !lowered_->driver->table().quirks.update_in_flight) lock.unlock();
  }
  if (is_timed_) {
    launch.timeline = std::make_unique<Timeline>(lowered_);
    Result<> started = launch.timeline->start(streams.main());
    if (!started) return started.error();
  }
  Timeline* timeline = launch.timeline.get();
  for (size_t i = 0; i < lowered_->pieces.size(); ++i) {
    const Piece& piece = lowered_->pieces[i];
    if (piece.is_indirect) {
      Result<StreamSet::IndirectOutcome> outcome = streams.run_indirect(*lowered_, piece, own, timeline);
      if (!outcome) return outcome.error();
      if (outcome->over_limit && !launch.over_limit) launch.over_limit = std::move(outcome->over_limit);
      continue;
    }
    Result<> done =
        graphs == nullptr ? streams.replay(*lowered_, piece, own, timeline) : graphs->pieces[i]->launch(streams.main());
    if (!done) return done;
  }
  return {};
}

std::vector<GraphObject> GraphExecutable::native() const {
  std::vector<GraphObject> all;
  const auto lock = cache_.lock();
  const BoundGraphs* graphs = cache_.newest();
  if (graphs == nullptr) return all;
  for (const auto& piece : graphs->pieces) {
    if (piece != nullptr) all.push_back(piece->native());
  }
  return all;
}

std::string GraphExecutable::dot() const {
  const DriverTable& table = lowered_->driver->table();
  if (table.graph_dot == nullptr) return {};
  const ContextScope scope(*lowered_->driver);
  const auto lock = cache_.lock();
  const BoundGraphs* graphs = cache_.newest();
  if (graphs == nullptr) return {};
  std::string text;
  std::error_code ignored;
  const std::filesystem::path path = std::filesystem::temp_directory_path(ignored) /
                                     ("pianola-" + std::to_string(reinterpret_cast<uintptr_t>(this)) + ".dot");
  for (const auto& piece : graphs->pieces) {
    if (piece == nullptr || !piece->write_dot(path.string())) continue;
    std::ifstream file(path);
    text.append(std::istreambuf_iterator<char>(file), {});
    std::filesystem::remove(path, ignored);
  }
  return text;
}

std::string GraphExecutable::describe() const {
  const std::string text = "// " + std::to_string(lowered_->operations.size()) + " operations in " +
                           std::to_string(lowered_->lanes) + " lanes, " + std::to_string(lowered_->pieces.size()) +
                           " pieces, " + (use_graphs_ ? "as graphs" : "on streams") + "\n";
  return text + dot();
}

}  // namespace pianola::driver_graph
