// SPDX-License-Identifier: Apache-2.0
// Parts of a plan in words, for the text and the Graphviz form.
#include "plan/describe.hpp"

#include <array>
#include <utility>
#include <vector>

#include "record/print.hpp"

namespace pianola::plan {
namespace {

std::string kinds_text(uint8_t kinds) {
  constexpr std::array<std::pair<WorkKind, const char*>, 3> names = {
      {{WorkKind::transfer, "transfer"}, {WorkKind::compute, "compute"}, {WorkKind::collective, "collective"}}};
  std::string text;
  for (const auto& [kind, name] : names) {
    if ((kinds & static_cast<uint8_t>(kind)) == 0) continue;
    if (!text.empty()) text += '+';
    text += name;
  }
  return text;
}

}  // namespace

std::string describe_node(const Plan::Data& data, const PlanNode& node) {
  return print(*node.command, *data.commands.data()) + (node.as_kernel ? " (as kernel)" : "");
}

std::string describe_group(const Plan::Data& data, uint32_t group) {
  std::vector<uint32_t> path;
  for (uint32_t parent = data.groups[group].parent; parent != 0; parent = data.groups[parent].parent) {
    path.push_back(parent);
  }
  std::string text;
  for (; !path.empty(); path.pop_back()) text += data.groups[path.back()].label + " / ";
  return text + data.groups[group].label;
}

std::string describe_sync(const Plan::Data& data, size_t sync) {
  const SyncPoint& point = data.syncs[sync];
  std::string text = "sync " + kinds_text(point.source_kinds) + " -> " + kinds_text(point.destination_kinds);
  const char* separator = ": ";
  for (uint32_t i = point.first_range; i < data.syncs[sync + 1].first_range; ++i) {
    text += separator + print(data.sync_ranges[i], *data.commands.data());
    separator = ", ";
  }
  return point.all_memory ? text + separator + "all memory" : text;
}

}  // namespace pianola::plan
