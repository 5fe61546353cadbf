// SPDX-License-Identifier: Apache-2.0
#include "backend/driver_graph/stream_replay.hpp"

#include <algorithm>
#include <cstring>

#include "backend/driver_graph/markers.hpp"
#include "base/guarded.hpp"

namespace pianola::driver_graph {
namespace {

constexpr size_t counts_bytes = 3 * sizeof(uint32_t);
constexpr uint32_t no_event = UINT32_MAX;

/// Which operations of the piece others of another lane wait for: an event each.
std::vector<uint32_t> events_needed(const Lowered& lowered, const Piece& piece, uint32_t& count) {
  std::vector<uint32_t> event(piece.end - piece.begin, no_event);
  for (uint32_t i = piece.begin; i < piece.end; ++i) {
    for (const uint32_t dep : lowered.deps_of(i)) {
      if (dep < piece.begin || lowered.operations[dep].lane == lowered.operations[i].lane) continue;
      uint32_t& slot = event[dep - piece.begin];
      if (slot == no_event) slot = count++;
    }
  }
  return event;
}

bool is_empty(const std::array<uint32_t, 3>& groups) {
  return groups[0] == 0 || groups[1] == 0 || groups[2] == 0;
}

}  // namespace

Result<std::unique_ptr<StreamSet>> StreamSet::create(const DriverRef& driver, Stream main) {
  std::unique_ptr<StreamSet> set(new StreamSet(driver));
  if (main != nullptr) set->streams_.push_back(main);
  Result<> grown = set->grow(1, 0);
  if (!grown) return grown.error();
  return set;
}

Result<> StreamSet::grow(size_t streams, size_t events) {
  const DriverTable& table = driver_->table();
  while (streams_.size() < streams) {
    Result<Stream> stream = table.stream_create(table.api);
    if (!stream) return stream.error();
    owned_.emplace_back(driver_, *stream);
    streams_.push_back(*stream);
  }
  while (events_.size() < events) {
    Result<Event> event = table.event_create(table.api, false);
    if (!event) return event.error();
    events_.emplace_back(driver_, *event);
  }
  return {};
}

Result<> StreamSet::fork(uint32_t lanes) {
  const DriverTable& table = driver_->table();
  Result<> done;
  if (lanes > 1) done = table.event_record(table.api, events_[0].get(), main());
  for (uint32_t lane = 1; done && lane < lanes; ++lane) {
    done = table.stream_wait(table.api, streams_[lane], events_[0].get());
  }
  return done;
}

Result<> StreamSet::join(uint32_t lanes) {
  const DriverTable& table = driver_->table();
  Result<> done;
  for (uint32_t lane = 1; done && lane < lanes; ++lane) {
    done = table.event_record(table.api, events_[lane].get(), streams_[lane]);
    if (done) done = table.stream_wait(table.api, main(), events_[lane].get());
  }
  return done;
}

Result<> StreamSet::issue(CallMaker& calls, const Operation& operation, Stream stream) {
  const DriverTable& table = driver_->table();
  switch (operation.kind) {
    case OperationKind::fill: return table.stream_fill(table.api, stream, calls.fill(operation));
    case OperationKind::copy: return table.stream_copy(table.api, stream, calls.copy(operation));
    default: break;
  }
  if (is_empty(calls.groups(operation))) return {};
  return table.stream_kernel(table.api, stream, calls.kernel(operation));
}

/// `event` has one for each operation of the piece that other lanes wait for.
Result<> StreamSet::issue_all(const Lowered& lowered, const Piece& piece, const Values& values,
                              const std::vector<uint32_t>& event, Timeline* timeline) {
  const DriverTable& table = driver_->table();
  CallMaker calls(lowered, values);
  MarkedGroups groups(table.markers, lowered);
  Result<> done;
  for (uint32_t i = piece.begin; done && i < piece.end; ++i) {
    const Operation& operation = lowered.operations[i];
    groups.enter(operation);
    const Stream stream = streams_[operation.lane];
    for (const uint32_t dep : lowered.deps_of(i)) {
      if (!done || dep < piece.begin || lowered.operations[dep].lane == operation.lane) continue;
      done = table.stream_wait(table.api, stream, events_[event[dep - piece.begin]].get());
    }
    if (done && timeline != nullptr) done = timeline->begin(stream);
    if (done) done = issue(calls, operation, stream);
    if (done && timeline != nullptr) done = timeline->end(stream, i);
    const uint32_t own = event[i - piece.begin];
    if (done && own != no_event) done = table.event_record(table.api, events_[own].get(), stream);
    if (!done) done.error().command = operation.source;
  }
  return done;
}

Result<> StreamSet::replay(const Lowered& lowered, const Piece& piece, const Values& values, Timeline* timeline) {
  const DriverTable& table = driver_->table();
  // The first events serve fork and join; a record made later leaves earlier waits as they are.
  uint32_t event_count = lowered.lanes;
  const std::vector<uint32_t> event = events_needed(lowered, piece, event_count);
  Result<> done = grow(lowered.lanes, event_count);
  if (!done) return done;
  done = fork(lowered.lanes);
  if (done) done = guarded([&] { return issue_all(lowered, piece, values, event, timeline); });
  // After an error too: what the lanes were given runs, and the job must not end before it.
  const Result<> joined = join(lowered.lanes);
  for (uint32_t lane = 1; !joined && lane < lowered.lanes; ++lane) {
    (void)table.stream_synchronize(table.api, streams_[lane]);
  }
  return done ? joined : done;
}

Result<> StreamSet::read_counts(const Lowered& lowered, const Piece& piece, const CallMaker& calls) {
  const DriverTable& table = driver_->table();
  const size_t needed = (piece.end - piece.begin) * counts_bytes;
  if (counts_size_ < needed) {
    Result<void*> block = table.allocate_host(table.api, needed);
    if (!block) return block.error();
    counts_ = UniqueHostMemory(driver_, *block);
    counts_size_ = needed;
  }
  for (uint32_t i = piece.begin; i < piece.end; ++i) {
    CopyCall call;
    call.destination = static_cast<std::byte*>(counts_.get()) + (i - piece.begin) * counts_bytes;
    call.source = calls.address(lowered.operations[i].first_address);
    call.size = counts_bytes;
    call.destination_on_host = true;
    Result<> done = table.stream_copy(table.api, main(), call);
    if (!done) return done;
  }
  return table.stream_synchronize(table.api, main());
}

Result<StreamSet::IndirectOutcome> StreamSet::run_indirect(const Lowered& lowered, const Piece& piece,
                                                           const Values& values, Timeline* timeline) {
  const DriverTable& table = driver_->table();
  CallMaker calls(lowered, values);
  Result<> done = read_counts(lowered, piece, calls);
  if (!done) return done.error();
  IndirectOutcome outcome;
  const std::array<uint32_t, 3>& limit = driver_->facts().limits.max_groups;
  for (uint32_t i = piece.begin; i < piece.end; ++i) {
    const Operation& operation = lowered.operations[i];
    std::array<uint32_t, 3> groups{};
    std::memcpy(groups.data(), static_cast<const std::byte*>(counts_.get()) + (i - piece.begin) * counts_bytes,
                counts_bytes);
    if (is_empty(groups)) continue;
    const auto over = std::mismatch(groups.begin(), groups.end(), limit.begin(), std::less_equal<>());
    if (over.first != groups.end()) {
      if (!outcome.over_limit) {
        outcome.over_limit = Error{Errc::execution_failed,
                                   "indirect group count " + std::to_string(*over.first) + " is over the limit of " +
                                       std::to_string(*over.second),
                                   operation.source,
                                   {},
                                   0};
      }
      continue;
    }
    KernelCall call = calls.kernel(operation);
    call.groups = groups;
    if (timeline != nullptr) done = timeline->begin(main());
    if (done) done = table.stream_kernel(table.api, main(), call);
    if (done && timeline != nullptr) done = timeline->end(main(), i);
    if (!done) return done.error();
  }
  return outcome;
}

}  // namespace pianola::driver_graph
