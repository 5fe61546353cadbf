// SPDX-License-Identifier: Apache-2.0
// A plan as text for people.
#include <fmt/format.h>

#include <string_view>

#include "pianola/plan.hpp"
#include "plan/describe.hpp"
#include "plan/plan_data.hpp"
#include "record/print.hpp"

namespace pianola {
namespace {

/// "1 lane", "2 lanes".
std::string count(size_t number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : noun.ends_with('h') ? "es" : "s");
}

std::string title(const Plan::Data& data) {
  const PlanStats& stats = data.stats;
  const std::string text =
      fmt::format("{} from {} ({} merged, {} elided, {})", count(stats.nodes, "node"), count(stats.commands, "command"),
                  stats.merged, stats.elided, count(stats.barriers_recorded, "barrier"));
  if (data.form == PlanForm::lanes) {
    return text + fmt::format(", {}, {}\n", count(stats.lanes, "lane"), count(stats.edges, "edge"));
  }
  return text + fmt::format(", {}, {}, {}\n", count(data.first_in_wave.size() - 1, "wave"),
                            count(stats.sync_points, "sync point"), count(stats.kind_switches, "kind switch"));
}

class Printer {
 public:
  explicit Printer(const Plan::Data& data) : data_(data), text_(title(data)) {}

  std::string lanes() {
    text_ += "node lane  cmd  what\n";
    for (uint32_t node = 0; node < data_.nodes.size(); ++node) {
      group(node);
      line(node);
      std::string separator = "  after ";
      for (const NodeId dep : data_.deps_of(node)) {
        text_ += fmt::format("{}{}", separator, static_cast<uint32_t>(dep));
        separator = ", ";
      }
      text_ += '\n';
    }
    return std::move(text_);
  }

  std::string waves() {
    text_ += "node wave  cmd  what\n";
    for (size_t wave = 0; wave + 1 < data_.first_in_wave.size(); ++wave) {
      if (wave != 0) text_ += "---- " + plan::describe_sync(data_, wave - 1) + '\n';
      for (const NodeId node : data_.wave(wave)) {
        group(static_cast<uint32_t>(node));
        line(static_cast<uint32_t>(node));
        text_ += '\n';
      }
    }
    return std::move(text_);
  }

 private:
  void group(uint32_t node) {
    const uint32_t group = data_.nodes[node].group;
    if (group == group_) return;
    group_ = group;
    text_ += fmt::format("     group {}\n", group == 0 ? "(none)" : plan::describe_group(data_, group));
  }

  void line(uint32_t node) {
    const PlanNode& at = data_.nodes[node];
    text_ += fmt::format("{:>4} {:>4} {:>4}  {}", node, at.chain, at.source, plan::describe_node(data_, at));
  }

  const Plan::Data& data_;
  std::string text_;
  uint32_t group_ = 0;
};

}  // namespace

std::string Plan::to_string() const {
  if (!data_) return {};
  Printer printer(*data_);
  return data_->form == PlanForm::lanes ? printer.lanes() : printer.waves();
}

}  // namespace pianola
