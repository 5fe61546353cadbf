// SPDX-License-Identifier: Apache-2.0
#include "run_options.hpp"

#include <utility>
#include <vector>

namespace pianola::conformance {
namespace {

PlanOptions plan(Ordering ordering, std::optional<PlanForm> form = {}, bool merge = true) {
  PlanOptions options;
  options.ordering = ordering;
  options.form = form;
  options.merge = merge;
  return options;
}

const std::vector<Mode>& modes() {
  static const std::vector<Mode> all = {
      {.name = "api"},
      {.name = "random"},
      {.name = "first"},
      {.name = "replay", .strategy = Strategy::replay},
      {.name = "rebound", .strategy = Strategy::rebound},
      {.name = "direct", .strategy = Strategy::replay, .direct = true},
      {.name = "oneshot", .strategy = Strategy::oneshot},
      {.name = "inferred", .strategy = Strategy::replay, .plan = plan(Ordering::inferred)},
      {.name = "serial", .strategy = Strategy::replay, .plan = plan(Ordering::serial)},
      {.name = "lanes", .strategy = Strategy::replay, .plan = plan(Ordering::barriers, PlanForm::lanes)},
      {.name = "waves", .strategy = Strategy::replay, .plan = plan(Ordering::barriers, PlanForm::waves)},
      {.name = "inferred_waves", .strategy = Strategy::replay, .plan = plan(Ordering::inferred, PlanForm::waves)},
      {.name = "unmerged", .strategy = Strategy::replay, .plan = plan(Ordering::barriers, {}, false)},
      {.name = "streams", .strategy = Strategy::replay, .native_graph = false},
      {.name = "streams_rebound", .strategy = Strategy::rebound, .native_graph = false},
  };
  return all;
}

RunOptions current;

}  // namespace

std::optional<Mode> find_mode(std::string_view name) {
  for (const Mode& mode : modes()) {
    if (mode.name == name) return mode;
  }
  return std::nullopt;
}

std::string mode_names() {
  std::string names;
  for (const Mode& mode : modes()) names += (names.empty() ? "" : ", ") + mode.name;
  return names;
}

const RunOptions& run_options() {
  return current;
}

void set_run_options(RunOptions options) {
  current = std::move(options);
}

}  // namespace pianola::conformance
