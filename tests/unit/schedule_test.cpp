// SPDX-License-Identifier: Apache-2.0
// Lanes: how nodes are placed, and how few edges that takes.
#include "plan_fixture.hpp"

namespace pianola {
namespace {

Plan plan_of(const CommandBuffer& commands, const DeviceProfile& profile = {}, const PlanOptions& options = {}) {
  auto plan = make_plan(commands, profile, options);
  EXPECT_TRUE(plan) << to_string(plan.error());
  return *plan;
}

TEST(Schedule, ChainedWorkStaysInOneLane) {
  Script script;
  const BufferRef x = script.buffer("x");
  for (int i = 0; i < 100; ++i) {
    script.write(x);
    script.barrier();
  }
  const Plan plan = plan_of(script.finish());
  EXPECT_EQ(plan.stats().lanes, 1U);
  EXPECT_EQ(plan.stats().edges, 0U);
}

TEST(Schedule, InterleavedChainsEachHaveALane) {
  for (const uint32_t chains : {2U, 3U, 4U}) {
    Script script;
    std::vector<BufferRef> buffers;
    for (uint32_t i = 0; i < chains; ++i) buffers.push_back(script.buffer("x" + std::to_string(i)));
    for (int i = 0; i < 50; ++i) {
      for (const BufferRef& buffer : buffers) script.write(buffer);
      script.barrier();
    }
    const Plan plan = plan_of(script.finish());
    EXPECT_EQ(plan.stats().lanes, chains);
    EXPECT_EQ(plan.stats().edges, 0U);
  }
}

TEST(Schedule, IndependentWorkIsSpreadEvenly) {
  for (const uint32_t lanes : {1U, 2U, 4U, 16U, 32U}) {
    Script script;
    const BufferRef x = script.buffer("x");
    for (int i = 0; i < 320; ++i) script.read(x);
    const Plan plan = plan_of(script.finish(), {}, {.lanes = lanes});
    std::vector<uint32_t> counts(lanes);
    for (const PlanNode& node : plan.data()->nodes) ++counts.at(node.chain);
    for (const uint32_t count : counts) EXPECT_EQ(count, 320 / lanes);
    EXPECT_EQ(plan.stats().lanes, lanes);
  }
}

TEST(Schedule, LongWorkGetsALaneOfItsOwn) {
  Script script;
  const BufferRef x = script.buffer("x");
  script.rec.dispatch(script.kernels.work(), {.expected_time = std::chrono::milliseconds(1)});
  for (int i = 0; i < 20; ++i) script.read(x);
  const Plan plan = plan_of(script.finish(), {}, {.lanes = 2});
  const auto& nodes = plan.data()->nodes;
  for (size_t i = 1; i < nodes.size(); ++i) EXPECT_NE(nodes[i].chain, nodes[0].chain);
}

TEST(Schedule, DearEdgesKeepSmallWorkTogether) {
  Script script;
  const BufferRef x = script.buffer("x");
  const BufferRef y = script.buffer("y");
  for (int i = 0; i < 50; ++i) {
    script.write(x);
    script.write(y);
    script.barrier();
    script.work({{x, Access::inout}, {y, Access::inout}});
    script.barrier();
  }
  const CommandBuffer commands = script.finish();
  EXPECT_EQ(plan_of(commands, {.edge_us = 10}).stats().edges, 1U);
  const Plan plan = plan_of(commands, {.edge_us = 0.1});
  EXPECT_EQ(plan.stats().lanes, 2U);
  EXPECT_GE(plan.stats().edges, 90U);
}

TEST(Schedule, AJoinTakesOneEdgeALane) {
  Script script;
  const BufferRef x = script.buffer("x", 4096);
  for (uint32_t i = 0; i < 64; ++i) script.write(x.view(16 * i, 16));
  script.barrier();
  script.read(x);
  const Plan plan = plan_of(script.finish(), {}, {.lanes = 8});
  EXPECT_EQ(plan.stats().edges, 7U);
}

TEST(Schedule, RefusesLanesOutOfRange) {
  Script script;
  const CommandBuffer commands = script.finish();
  for (const uint32_t lanes : {0U, 33U}) {
    auto plan = make_plan(commands, {}, {.lanes = lanes});
    ASSERT_FALSE(plan);
    EXPECT_EQ(plan.error().code, Errc::invalid_argument);
    EXPECT_NE(plan.error().message.find(std::to_string(lanes) + " lanes"), std::string::npos) << plan.error().message;
  }
  auto plan = make_plan(CommandBuffer());
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, Errc::invalid_argument);
}

TEST(Schedule, TheCheaperFormIsChosenAndNativeOnATie) {
  Script script;
  const BufferRef x = script.buffer("x", 1 << 22);
  const BufferRef y = script.buffer("y", 1 << 22);
  script.fill(x.view(0, 64));
  script.barrier();
  script.fill(x);
  script.rec.copy(y.view(0, 64), x.view(0, 64));
  script.count();
  script.read(x);
  const Plan plan = plan_of(script.finish(), {.fill_native = {1.0, 0.2}, .fill_kernel = {0.5, 0.5}});
  const auto& nodes = plan.data()->nodes;
  EXPECT_TRUE(nodes[0].as_kernel);
  EXPECT_EQ(nodes[0].kind, WorkKind::compute);
  EXPECT_FALSE(nodes[1].as_kernel);
  EXPECT_EQ(nodes[1].kind, WorkKind::transfer);
  EXPECT_FALSE(nodes[2].as_kernel);
  EXPECT_FALSE(nodes[3].as_kernel);
  EXPECT_EQ(nodes[3].kind, WorkKind::compute);
}

// The next three would take 10^10 steps if pairs of accesses were looked at.
constexpr uint32_t many = 100'000;

TEST(Schedule, ManyWritersOfPiecesAfterManyReadersTakeFewEdges) {
  for (const uint32_t lanes : {4U, 32U}) {
    Script script;
    const BufferRef x = script.buffer("x", uint64_t{many} * 16);
    for (uint32_t i = 0; i < many; ++i) script.read(x);
    script.barrier();
    for (uint32_t i = 0; i < many; ++i) script.write(x.view(16 * ((uint64_t{i} * 7919) % many), 16));
    const Plan plan = plan_of(script.finish(), {}, {.lanes = lanes});
    EXPECT_LE(plan.stats().edges, lanes * (lanes - 1));
    EXPECT_GE(plan.stats().edges, lanes - 1);
  }
}

TEST(Schedule, ManyReadersAfterManyWritersOfPiecesTakeFewEdges) {
  for (const uint32_t lanes : {4U, 32U}) {
    Script script;
    const BufferRef x = script.buffer("x", uint64_t{many} * 16);
    for (uint32_t i = 0; i < many; ++i) script.write(x.view(16 * ((uint64_t{i} * 7919) % many), 16));
    script.barrier();
    for (uint32_t i = 0; i < many; ++i) script.read(x);
    const Plan plan = plan_of(script.finish(), {}, {.lanes = lanes});
    EXPECT_LE(plan.stats().edges, lanes * (lanes - 1));
    EXPECT_GE(plan.stats().edges, lanes - 1);
  }
}

TEST(Schedule, ManyNarrowedBarriersAndEventsAreNoBurden) {
  Script script;
  const BufferRef x = script.buffer("x", uint64_t{many} * 16);
  std::vector<EventRef> events;
  for (uint32_t i = 0; i < many / 4; ++i) {
    const BufferRef piece = x.view(16 * ((uint64_t{i} * 7919) % many), 16);
    events.push_back(script.rec.event());
    script.write(piece);
    script.rec.signal_event(events.back());
    script.barrier({piece});
    script.barrier({x});
    script.read(x.view(16 * uint64_t{i}, 48));
    script.read(x);
  }
  for (const EventRef event : events) script.rec.wait_event(event);
  script.write(x);
  const Plan plan = plan_of(script.finish(), {});
  EXPECT_EQ(plan.stats().nodes, many / 4 * 3 + 1);
  EXPECT_LE(plan.stats().edges, plan.stats().nodes * 3);
}

TEST(Schedule, ManyCommandsWithoutABarrierTakeNoEdge) {
  for (const uint32_t count : {33U, 64U, 1000U, 100'000U}) {
    Script script;
    const BufferRef x = script.buffer("x");
    for (uint32_t i = 0; i < count; ++i) script.write(x);
    const Plan plan = plan_of(script.finish());
    EXPECT_EQ(plan.stats().nodes, count);
    EXPECT_EQ(plan.stats().edges, 0U);
  }
}

}  // namespace
}  // namespace pianola
