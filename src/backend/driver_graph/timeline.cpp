// SPDX-License-Identifier: Apache-2.0
#include "backend/driver_graph/timeline.hpp"

#include "plan/describe.hpp"

namespace pianola::driver_graph {

Result<> Timeline::mark(Stream stream) {
  const DriverTable& table = lowered_->driver->table();
  Result<Event> event = table.event_create(table.api, true);
  if (!event) return event.error();
  marks_.emplace_back(lowered_->driver, *event);
  return table.event_record(table.api, *event, stream);
}

Result<> Timeline::end(Stream stream, uint32_t operation) {
  operations_.push_back(operation);
  return mark(stream);
}

Result<std::vector<CommandTime>> Timeline::read() const {
  const DriverTable& table = lowered_->driver->table();
  const auto time_of = [&](size_t mark) -> Result<std::chrono::nanoseconds> {
    Result<float> ms = table.event_elapsed_ms(table.api, marks_[0].get(), marks_[mark].get());
    if (!ms) return ms.error();
    return std::chrono::nanoseconds(static_cast<int64_t>(double{*ms} * 1e6));
  };
  const Plan::Data& plan = *lowered_->plan.data();
  std::vector<CommandTime> times;
  for (size_t i = 0; i < operations_.size(); ++i) {
    const Operation& operation = lowered_->operations[operations_[i]];
    Result<std::chrono::nanoseconds> begin = time_of(1 + 2 * i);
    if (!begin) return begin.error();
    Result<std::chrono::nanoseconds> end = time_of(2 + 2 * i);
    if (!end) return end.error();
    times.push_back({.command = operation.source,
                     .lane = operation.lane,
                     .name = plan::describe_node(plan, plan.nodes[operation.node]),
                     .group = operation.group == 0 ? std::string() : plan::describe_group(plan, operation.group),
                     .begin = *begin,
                     .end = *end});
  }
  return times;
}

}  // namespace pianola::driver_graph
