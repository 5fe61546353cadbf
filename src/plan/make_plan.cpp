// SPDX-License-Identifier: Apache-2.0
// make_plan: inline, merge, then hazards and placing in one pass.
#include <fmt/format.h>

#include <limits>
#include <new>

#include "pianola/plan.hpp"
#include "plan/choose.hpp"
#include "plan/flatten.hpp"
#include "plan/hazards.hpp"
#include "plan/lanes.hpp"
#include "plan/merge.hpp"
#include "plan/plan_data.hpp"
#include "plan/waves.hpp"

namespace pianola {
namespace {

using plan::Costs;
using plan::FlatList;
using plan::Hazards;
using plan::Lanes;
using plan::Waves;

constexpr uint32_t max_lanes = 32;

void schedule_lanes(Plan::Data& data, const FlatList& list, const Costs& costs, Ordering ordering, uint32_t count) {
  const bool is_serial = ordering == Ordering::serial;
  Lanes lanes(data, is_serial ? 1 : count, costs.edge());
  Hazards hazards(data, list, ordering, PlanForm::lanes);
  size_t cut = 0;
  for (uint32_t node = 0; node < data.nodes.size(); ++node) {
    const plan::Ticks cost = costs.choose(data.nodes[node]);
    if (is_serial) {
      lanes.place(node, {}, cost);
      continue;
    }
    for (; cut < list.cuts.size() && list.cuts[cut].at == node; ++cut) hazards.cut(list.cuts[cut]);
    lanes.place(node, hazards.add(node), cost);
  }
  lanes.finish();
}

void schedule_waves(Plan::Data& data, const FlatList& list, const Costs& costs, Ordering ordering) {
  Waves waves(data);
  Hazards hazards(data, list, ordering, PlanForm::waves);
  size_t cut = 0;
  for (uint32_t node = 0; node < data.nodes.size(); ++node) {
    costs.choose(data.nodes[node]);
    if (ordering == Ordering::serial) {
      waves.place_alone(node);
      continue;
    }
    for (; cut < list.cuts.size() && list.cuts[cut].at == node; ++cut) hazards.cut(list.cuts[cut]);
    const auto waits = hazards.add(node);
    waves.place(node, waits, hazards.conflicts());
  }
  waves.finish();
}

Result<Plan> build(const CommandBuffer& commands, const DeviceProfile& profile, const PlanOptions& options) {
  const uint32_t lanes = options.lanes.value_or(profile.lanes);
  if (!commands) return Error{Errc::invalid_argument, "make_plan: the command buffer is empty"};
  if (lanes == 0 || lanes > max_lanes) {
    return Error{Errc::invalid_argument, fmt::format("make_plan: {} lanes; 1 to {} are possible", lanes, max_lanes)};
  }
  auto data = std::make_shared<Plan::Data>();
  data->commands = commands;
  data->form = options.form.value_or(profile.form);
  data->records = std::make_unique<Pool>();

  Result<FlatList> list = plan::flatten(*commands.data(), *data->records);
  if (!list) return list.error();
  PlanStats& stats = data->stats;
  stats.commands = list->commands;
  stats.elided = list->elided;
  stats.barriers_recorded = list->barriers;
  if (options.merge) stats.merged = plan::merge(*list, *commands.data(), *data->records);
  data->nodes = std::move(list->nodes);
  data->groups = std::move(list->groups);
  stats.nodes = static_cast<uint32_t>(data->nodes.size());

  const Costs costs(profile);
  if (data->form == PlanForm::lanes) {
    schedule_lanes(*data, *list, costs, options.ordering, lanes);
    if (data->deps.size() >= std::numeric_limits<uint32_t>::max()) {
      return Error{Errc::limit_exceeded, fmt::format("make_plan: {} edges; fewer than 2^32 are possible, and fewer "
                                                     "lanes need fewer",
                                                     data->deps.size())};
    }
  } else {
    schedule_waves(*data, *list, costs, options.ordering);
  }
  return Plan(std::move(data));
}

}  // namespace

PlanForm Plan::form() const {
  return data_->form;
}

const PlanStats& Plan::stats() const {
  return data_->stats;
}

const CommandBuffer& Plan::command_buffer() const {
  return data_->commands;
}

Result<Plan> make_plan(const CommandBuffer& commands, const DeviceProfile& profile, const PlanOptions& options) {
  try {
    return build(commands, profile, options);
  } catch (const std::bad_alloc&) {
    // Short enough that the text needs no memory of its own.
    return Error{Errc::out_of_memory, "out of memory"};
  }
}

}  // namespace pianola
