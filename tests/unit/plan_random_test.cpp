// SPDX-License-Identifier: Apache-2.0
// Properties that every plan has, on random lists. What is ordered is judged elsewhere.
#include <random>

#include "plan_fixture.hpp"

namespace pianola {
namespace {

CommandBuffer random_list(std::mt19937& random, uint32_t length) {
  const auto below = [&random](uint32_t limit) { return static_cast<uint32_t>(random() % limit); };
  Script script;
  std::vector<BufferRef> buffers;
  for (int i = 0; i < 3; ++i) buffers.push_back(script.buffer("x" + std::to_string(i), 64));
  buffers.push_back(script.buffer("a", 64, true));
  buffers.push_back(script.buffer("b", 64, true));
  const EventRef event = script.rec.event();
  script.rec.signal_event(event);
  const auto piece = [&] {
    const uint32_t offset = below(16);
    return buffers[below(5)].view(4 * offset, 4 * below(17 - offset));
  };
  for (uint32_t i = 0; i < length; ++i) {
    switch (below(14)) {
      case 0: script.barrier(); break;
      case 1: script.barrier({piece()}); break;
      case 2: script.rec.signal_event(event); break;
      case 3: script.rec.wait_event(event); break;
      case 4: script.rec.discard(piece()); break;
      case 5:
        if (below(20) == 0) script.opaque();
        break;
      case 6:
      case 7: script.fill(piece(), below(2)); break;
      default: script.work({{piece(), static_cast<Access>(1 + below(3))}, {piece(), Access::in}}); break;
    }
  }
  return script.finish();
}

/// For each node, which earlier ones come before it: by its lane and its edges, one edge left out.
std::vector<char> before(const Plan::Data& data, uint32_t node, size_t without) {
  std::vector<char> reached(data.nodes.size());
  const auto expand = [&](uint32_t at, size_t skip) {
    for (uint32_t other = at; other-- > 0;) {
      if (data.nodes[other].chain != data.nodes[at].chain) continue;
      reached[other] = 1;
      break;
    }
    const auto deps = data.deps_of(at);
    for (size_t i = 0; i < deps.size(); ++i) {
      if (i != skip) reached[static_cast<uint32_t>(deps[i])] = 1;
    }
  };
  expand(node, without);
  for (uint32_t at = node; at-- > 0;) {
    if (reached[at] != 0) expand(at, SIZE_MAX);
  }
  return reached;
}

TEST(PlanRandom, EdgesPointForwardBetweenLanesAndAreAllNeeded) {
  for (uint32_t seed = 0; seed < 400; ++seed) {
    std::mt19937 random(seed);
    const auto ordering = seed % 3 == 0 ? Ordering::inferred : Ordering::barriers;
    auto plan = make_plan(random_list(random, 80), {.lanes = 1 + seed % 7}, {.ordering = ordering});
    ASSERT_TRUE(plan) << to_string(plan.error());
    const Plan::Data& data = *plan->data();
    ASSERT_EQ(data.first_dep.size(), data.nodes.size() + 1);
    for (uint32_t node = 0; node < data.nodes.size(); ++node) {
      ASSERT_LT(data.nodes[node].chain, data.stats.lanes);
      const auto deps = data.deps_of(node);
      for (size_t i = 0; i < deps.size(); ++i) {
        const auto dep = static_cast<uint32_t>(deps[i]);
        ASSERT_LT(dep, node);
        ASSERT_NE(data.nodes[dep].chain, data.nodes[node].chain);
        if (i > 0) {
          ASSERT_LT(static_cast<uint32_t>(deps[i - 1]), dep);
        }
        ASSERT_EQ(before(data, node, i)[dep], 0) << "seed " << seed << ": edge " << dep << " to " << node;
      }
    }
  }
}

TEST(PlanRandom, WavesHoldEveryNodeOnceKindByKind) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const auto ordering = seed % 3 == 0 ? Ordering::inferred : Ordering::barriers;
    auto plan = make_plan(random_list(random, 80), {.form = PlanForm::waves}, {.ordering = ordering});
    ASSERT_TRUE(plan) << to_string(plan.error());
    const Plan::Data& data = *plan->data();
    std::vector<char> seen(data.nodes.size());
    uint32_t switches = 0;
    WorkKind last = data.order.empty() ? WorkKind::transfer : data.nodes[static_cast<uint32_t>(data.order[0])].kind;
    for (size_t wave = 0; wave + 1 < data.first_in_wave.size(); ++wave) {
      ASSERT_FALSE(data.wave(wave).empty());
      uint32_t runs = 0;
      for (const NodeId id : data.wave(wave)) {
        const PlanNode& node = data.nodes[static_cast<uint32_t>(id)];
        ASSERT_EQ(node.chain, wave);
        ASSERT_EQ(std::exchange(seen[static_cast<uint32_t>(id)], 1), 0);
        runs += node.kind != last ? 1 : 0;
        last = node.kind;
      }
      ASSERT_LE(runs, 1U) << "two kinds of work in one wave need one switch at most";
      switches += runs;
    }
    EXPECT_EQ(std::count(seen.begin(), seen.end(), 0), 0);
    EXPECT_EQ(switches, data.stats.kind_switches);
    EXPECT_EQ(data.stats.sync_points + 1, data.first_in_wave.size() - 1);
  }
}

TEST(PlanRandom, TheSameListGivesTheSamePlan) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    const CommandBuffer list = random_list(random, 100);
    for (const PlanForm form : {PlanForm::lanes, PlanForm::waves}) {
      const auto first = make_plan(list, {.form = form});
      const auto second = make_plan(list, {.form = form});
      ASSERT_TRUE(first && second);
      EXPECT_EQ(first->to_string(), second->to_string());
      EXPECT_EQ(first->to_graphviz(), second->to_graphviz());
    }
  }
}

}  // namespace
}  // namespace pianola
