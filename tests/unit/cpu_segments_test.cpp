// SPDX-License-Identifier: Apache-2.0
// A plan cut into segments keeps every order the plan has, and adds none between lanes.
#include "backend/cpu/segments.hpp"

#include <algorithm>
#include <random>

namespace pianola::backend::cpu {
namespace {

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  uint32_t below(uint32_t limit) { return static_cast<uint32_t>(engine_() % limit); }

 private:
  std::mt19937 engine_;
};

/// before[a][b]: segment a is done before segment b starts. Repeated squaring, small graphs only.
std::vector<std::vector<bool>> reachable(const SegmentGraph& graph) {
  std::vector<std::vector<bool>> before(graph.count, std::vector<bool>(graph.count));
  for (const auto& [earlier, later] : graph.edges) before[earlier][later] = true;
  for (uint32_t k = 0; k < graph.count; ++k) {
    for (uint32_t i = 0; i < graph.count; ++i) {
      for (uint32_t j = 0; before[i][k] && j < graph.count; ++j) {
        if (before[k][j]) before[i][j] = true;
      }
    }
  }
  return before;
}

/// Every part of `earlier` is done before any part of `later` starts.
bool is_ordered(const SegmentGraph& graph, const std::vector<std::vector<bool>>& before, size_t earlier, size_t later) {
  const NodePlace a = graph.places[earlier];
  const NodePlace b = graph.places[later];
  if (a.parts == 1 && b.parts == 1 && a.segment == b.segment) return true;
  for (uint32_t i = 0; i < a.parts; ++i) {
    for (uint32_t j = 0; j < b.parts; ++j) {
      if (!before[a.segment + i][b.segment + j]) return false;
    }
  }
  return true;
}

struct Case {
  Plan::Data plan;
  std::vector<uint32_t> parts;
  std::vector<float> cost;
};

void add_sizes(Case& made, size_t nodes, Random& random) {
  for (size_t i = 0; i < nodes; ++i) {
    made.parts.push_back(random.below(5) == 0 ? 2 + random.below(3) : 1);
    made.cost.push_back(static_cast<float>(1 + random.below(10)));
  }
}

Case random_lanes(Random& random) {
  Case made;
  const uint32_t nodes = 1 + random.below(14);
  const uint32_t lanes = 1 + random.below(4);
  for (uint32_t i = 0; i < nodes; ++i) {
    PlanNode node;
    node.chain = random.below(lanes);
    made.plan.nodes.push_back(node);
    made.plan.first_dep.push_back(static_cast<uint32_t>(made.plan.deps.size()));
    for (uint32_t dep = 0; dep < i; ++dep) {
      if (made.plan.nodes[dep].chain != node.chain && random.below(6) == 0) made.plan.deps.push_back(NodeId{dep});
    }
  }
  made.plan.first_dep.push_back(static_cast<uint32_t>(made.plan.deps.size()));
  add_sizes(made, nodes, random);
  return made;
}

Case random_waves(Random& random) {
  Case made;
  made.plan.form = PlanForm::waves;
  const uint32_t nodes = 1 + random.below(14);
  const uint32_t waves = 1 + random.below(4);
  made.plan.nodes.resize(nodes);
  for (PlanNode& node : made.plan.nodes) node.chain = random.below(waves);
  for (uint32_t wave = 0; wave < waves; ++wave) {
    made.plan.first_in_wave.push_back(static_cast<uint32_t>(made.plan.order.size()));
    for (uint32_t i = 0; i < nodes; ++i) {
      if (made.plan.nodes[i].chain == wave) made.plan.order.push_back(NodeId{i});
    }
  }
  made.plan.first_in_wave.push_back(nodes);
  add_sizes(made, nodes, random);
  return made;
}

TEST(CpuSegments, NumbersRespectEveryEdge) {
  Random random(1);
  for (int round = 0; round < 2000; ++round) {
    const Case made = round % 2 == 0 ? random_lanes(random) : random_waves(random);
    const SegmentGraph graph = cut_segments(made.plan, made.parts, made.cost, 1 + random.below(4));
    for (const auto& [earlier, later] : graph.edges) {
      ASSERT_LT(earlier, later);
      ASSERT_LT(later, graph.count);
    }
  }
}

TEST(CpuSegments, LanesAndTheirEdgesAreKept) {
  Random random(2);
  for (int round = 0; round < 2000; ++round) {
    const Case made = random_lanes(random);
    const SegmentGraph graph = cut_segments(made.plan, made.parts, made.cost, 4);
    const auto before = reachable(graph);
    for (uint32_t later = 0; later < made.plan.nodes.size(); ++later) {
      for (const NodeId dep : made.plan.deps_of(later)) {
        ASSERT_TRUE(is_ordered(graph, before, static_cast<uint32_t>(dep), later)) << "round " << round;
      }
      for (uint32_t earlier = 0; earlier < later; ++earlier) {
        if (made.plan.nodes[earlier].chain != made.plan.nodes[later].chain) continue;
        ASSERT_TRUE(is_ordered(graph, before, earlier, later)) << "round " << round;
      }
    }
  }
}

TEST(CpuSegments, WavesAreKept) {
  Random random(3);
  for (int round = 0; round < 2000; ++round) {
    const Case made = random_waves(random);
    const SegmentGraph graph = cut_segments(made.plan, made.parts, made.cost, 1 + random.below(4));
    const auto before = reachable(graph);
    for (uint32_t a = 0; a < made.plan.nodes.size(); ++a) {
      for (uint32_t b = 0; b < made.plan.nodes.size(); ++b) {
        if (made.plan.nodes[a].chain < made.plan.nodes[b].chain) {
          ASSERT_TRUE(is_ordered(graph, before, a, b)) << "round " << round;
        }
      }
    }
  }
}

TEST(CpuSegments, LanesWithoutEdgesStayApart) {
  Case made;
  for (uint32_t i = 0; i < 6; ++i) {
    PlanNode node;
    node.chain = i % 2;
    made.plan.nodes.push_back(node);
  }
  made.plan.first_dep.assign(7, 0);
  made.parts.assign(6, 1);
  made.cost.assign(6, 1.0F);
  const SegmentGraph graph = cut_segments(made.plan, made.parts, made.cost, 2);
  EXPECT_EQ(graph.count, 2U);
  EXPECT_TRUE(graph.edges.empty());
}

TEST(CpuSegments, CheapWaveIsSharedOutEvenly) {
  Case made;
  made.plan.form = PlanForm::waves;
  made.plan.nodes.resize(100);
  for (uint32_t i = 0; i < 100; ++i) made.plan.order.push_back(NodeId{i});
  made.plan.first_in_wave = {0, 100};
  made.parts.assign(100, 1);
  made.cost.assign(100, 1.0F);
  const SegmentGraph graph = cut_segments(made.plan, made.parts, made.cost, 4);
  std::vector<int> nodes(graph.count);
  for (const NodePlace& place : graph.places) ++nodes[place.segment];
  EXPECT_EQ(std::ranges::count(nodes, 25), 4);
}

}  // namespace
}  // namespace pianola::backend::cpu
