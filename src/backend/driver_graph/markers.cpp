// SPDX-License-Identifier: Apache-2.0
#include "backend/driver_graph/markers.hpp"

#include <algorithm>

#include "backend/driver_graph/lowered.hpp"

namespace pianola::driver_graph {

Markers Markers::load(std::span<const char* const> libraries, const char* push, const char* pop) {
  for (const char* name : libraries) {
    const Result<DynamicLibrary> library = DynamicLibrary::open(name);
    if (!library) continue;
    Markers markers;
    markers.push = reinterpret_cast<decltype(markers.push)>(library->symbol(push));
    markers.pop = reinterpret_cast<decltype(markers.pop)>(library->symbol(pop));
    if (markers.push != nullptr && markers.pop != nullptr) return markers;
  }
  return {};
}

void MarkedGroups::enter(const Operation& operation) {
  if (markers_.push == nullptr) return;
  const std::vector<PlanGroup>& groups = lowered_.plan.data()->groups;
  std::vector<uint32_t> wanted;
  for (uint32_t group = operation.group; group != 0; group = groups[group].parent) wanted.push_back(group);
  std::reverse(wanted.begin(), wanted.end());
  const auto [differs, unused] = std::mismatch(open_.begin(), open_.end(), wanted.begin(), wanted.end());
  leave(static_cast<size_t>(differs - open_.begin()));
  for (size_t i = open_.size(); i < wanted.size(); ++i) {
    markers_.push(groups[wanted[i]].label.c_str());
    open_.push_back(wanted[i]);
  }
}

void MarkedGroups::leave(size_t depth) {
  for (; open_.size() > depth; open_.pop_back()) markers_.pop();
}

}  // namespace pianola::driver_graph
