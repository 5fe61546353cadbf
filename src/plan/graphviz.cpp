// SPDX-License-Identifier: Apache-2.0
// A plan as a dot file: lanes or waves as clusters.
#include <fmt/format.h>

#include "pianola/plan.hpp"
#include "plan/describe.hpp"
#include "plan/plan_data.hpp"

namespace pianola {
namespace {

std::string escape(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

const char* shape(WorkKind kind) {
  switch (kind) {
    case WorkKind::transfer: return "box";
    case WorkKind::compute: return "ellipse";
    case WorkKind::collective: return "hexagon";
  }
  return "box";
}

std::string node_line(const Plan::Data& data, uint32_t node) {
  const PlanNode& at = data.nodes[node];
  std::string label = fmt::format("{}: {}", node, plan::describe_node(data, at));
  if (at.group != 0) label = plan::describe_group(data, at.group) + ": " + label;
  return fmt::format("    n{} [shape={}, label=\"{}\"];\n", node, shape(at.kind), escape(label));
}

std::string cluster(const char* name, size_t index, const std::string& body) {
  return fmt::format("  subgraph cluster_{} {{\n    label=\"{} {}\";\n{}  }}\n", index, name, index, body);
}

std::string lanes_text(const Plan::Data& data) {
  std::vector<std::string> bodies(data.stats.lanes);
  std::vector<uint32_t> tails(data.stats.lanes);  // node + 1
  std::string edges;
  for (uint32_t node = 0; node < data.nodes.size(); ++node) {
    const uint32_t lane = data.nodes[node].chain;
    bodies[lane] += node_line(data, node);
    if (tails[lane] != 0) edges += fmt::format("  n{} -> n{} [style=dotted];\n", tails[lane] - 1, node);
    tails[lane] = node + 1;
    for (const NodeId dep : data.deps_of(node))
      edges += fmt::format("  n{} -> n{};\n", static_cast<uint32_t>(dep), node);
  }
  std::string text;
  for (size_t lane = 0; lane < bodies.size(); ++lane) text += cluster("lane", lane, bodies[lane]);
  return text + edges;
}

std::string waves_text(const Plan::Data& data) {
  std::string text;
  for (size_t wave = 0; wave + 1 < data.first_in_wave.size(); ++wave) {
    std::string body;
    for (const NodeId node : data.wave(wave)) body += node_line(data, static_cast<uint32_t>(node));
    text += cluster("wave", wave, body);
    if (wave == 0) continue;
    text +=
        fmt::format("  n{} -> n{} [ltail=cluster_{}, lhead=cluster_{}, label=\"{}\"];\n",
                    static_cast<uint32_t>(data.wave(wave - 1).back()), static_cast<uint32_t>(data.wave(wave).front()),
                    wave - 1, wave, escape(plan::describe_sync(data, wave - 1)));
  }
  return text;
}

}  // namespace

std::string Plan::to_graphviz() const {
  if (!data_) return {};
  std::string text = "digraph plan {\n  rankdir=TB;\n  compound=true;\n";
  text += data_->form == PlanForm::lanes ? lanes_text(*data_) : waves_text(*data_);
  return text + "}\n";
}

}  // namespace pianola
