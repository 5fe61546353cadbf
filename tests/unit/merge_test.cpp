// SPDX-License-Identifier: Apache-2.0
// Which neighbours become one command, and with which bytes.
#include "plan/merge.hpp"

#include <array>

#include "plan_fixture.hpp"

namespace pianola {
namespace {

Plan plan_of(const CommandBuffer& commands, bool merge = true) {
  auto plan = make_plan(commands, {}, {.merge = merge});
  EXPECT_TRUE(plan);
  return *plan;
}

const Fill& fill_at(const Plan& plan, size_t node) {
  return as<Fill>(*plan.data()->nodes[node].command);
}

TEST(Merge, TouchingFillsOfOnePatternBecomeOne) {
  for (const bool is_reversed : {false, true}) {
    Script script;
    const BufferRef x = script.buffer("x");
    script.fill(x.view(is_reversed ? 24 : 8, 16), 7);
    script.fill(x.view(is_reversed ? 8 : 24, 16), 7);
    const Plan plan = plan_of(script.finish());
    ASSERT_EQ(plan.stats().nodes, 1U);
    EXPECT_EQ(plan.stats().merged, 1U);
    EXPECT_EQ(fill_at(plan, 0).destination.offset, 8U);
    EXPECT_EQ(fill_at(plan, 0).destination.size, 32U);
  }
}

TEST(Merge, RepeatedAndOverlappingFillsBecomeOneInPhase) {
  Script script;
  const BufferRef x = script.buffer("x");
  script.fill(x.view(0, 16), 0x01020304);
  script.fill(x.view(0, 16), 0x01020304);
  script.fill(x.view(8, 16), 0x01020304);
  const Plan plan = plan_of(script.finish());
  ASSERT_EQ(plan.stats().nodes, 1U);
  EXPECT_EQ(fill_at(plan, 0).destination.size, 24U);
}

TEST(Merge, FillsOutOfPhaseStayApart) {
  Script script;
  const BufferRef x = script.buffer("x");
  script.fill(x.view(0, 16), 0x01020304);
  script.fill(x.view(2, 16), 0x01020304);
  EXPECT_EQ(plan_of(script.finish()).stats().nodes, 2U);
}

TEST(Merge, FillsOfOtherPatternsSlotsOrGapsStayApart) {
  Script script;
  const BufferRef x = script.buffer("x");
  const BufferRef y = script.buffer("y");
  script.fill(x.view(0, 8), 1);
  script.fill(x.view(8, 8), 2);
  script.fill(y.view(16, 8), 2);
  script.fill(y.view(28, 8), 2);
  script.rec.fill(y.view(36, 8), uint64_t{2});
  script.count();
  EXPECT_EQ(plan_of(script.finish()).stats().nodes, 5U);
}

TEST(Merge, UpdatesAreJoinedInAddressOrder) {
  Script script;
  const BufferRef x = script.buffer("x");
  script.rec.update(x.view(8, 4), std::array<uint8_t, 4>{5, 6, 7, 8});
  script.rec.update(x.view(12, 3), std::array<uint8_t, 3>{9, 10, 11});
  script.rec.update(x.view(4, 4), std::array<uint8_t, 4>{1, 2, 3, 4});
  const Plan plan = plan_of(script.finish());
  ASSERT_EQ(plan.stats().nodes, 1U);
  const auto& update = as<Update>(*plan.data()->nodes[0].command);
  EXPECT_EQ(update.destination.offset, 4U);
  ASSERT_EQ(update.destination.size, 11U);
  for (size_t i = 0; i < 11; ++i) EXPECT_EQ(static_cast<size_t>(update.bytes()[i]), i + 1);
  EXPECT_GE(size_t{8} * update.header.words, sizeof(Update) + 11);
}

TEST(Merge, OverlappingUpdatesStayApart) {
  Script script;
  const BufferRef x = script.buffer("x");
  script.rec.update(x.view(0, 4), std::array<uint8_t, 4>{});
  script.rec.update(x.view(2, 4), std::array<uint8_t, 4>{});
  EXPECT_EQ(plan_of(script.finish()).stats().nodes, 2U);
}

TEST(Merge, CopiesThatTouchOnBothSidesBecomeOne) {
  for (const bool is_reversed : {false, true}) {
    Script script;
    const BufferRef x = script.buffer("x");
    const BufferRef y = script.buffer("y");
    for (const uint64_t at : {is_reversed ? 8 : 0, is_reversed ? 0 : 8})
      script.rec.copy(y.view(at + 4, 8), x.view(at, 8));
    const Plan plan = plan_of(script.finish());
    ASSERT_EQ(plan.stats().nodes, 1U);
    const auto& copy = as<Copy>(*plan.data()->nodes[0].command);
    EXPECT_EQ(copy.destination.offset, 4U);
    EXPECT_EQ(copy.source.offset, 0U);
    EXPECT_EQ(copy.destination.size, 16U);
    EXPECT_EQ(copy.source.size, 16U);
  }
}

TEST(Merge, CopiesThatCrossStayApart) {
  Script script;
  const BufferRef x = script.buffer("x");
  const BufferRef y = script.buffer("y");
  script.rec.copy(y.view(0, 8), x.view(8, 8)).copy(y.view(8, 8), x.view(0, 8));
  EXPECT_EQ(plan_of(script.finish()).stats().nodes, 2U);
}

// The second copy reads what the first one wrote, or did not write yet.
TEST(Merge, CopiesThatWouldOverlapStayApart) {
  Script script;
  const BufferRef x = script.buffer("x");
  script.rec.copy(x.view(0, 8), x.view(8, 8)).copy(x.view(8, 8), x.view(16, 8));
  EXPECT_EQ(plan_of(script.finish()).stats().nodes, 2U);
}

TEST(Merge, CopiesBetweenAliasingSlotsStayApart) {
  Script script;
  const BufferRef x = script.buffer("x", 64, true);
  const BufferRef y = script.buffer("y", 64, true);
  script.rec.copy(y.view(0, 8), x.view(0, 8)).copy(y.view(8, 8), x.view(8, 8));
  EXPECT_EQ(plan_of(script.finish()).stats().nodes, 2U);
}

TEST(Merge, NothingIsJoinedAcrossACut) {
  Script script;
  const BufferRef x = script.buffer("x");
  const EventRef event = script.rec.event();
  script.fill(x.view(0, 8));
  script.barrier();
  script.fill(x.view(8, 8));
  script.rec.signal_event(event);
  script.count();
  script.fill(x.view(16, 8));
  script.rec.wait_event(event);
  script.count();
  script.fill(x.view(24, 8));
  script.barrier({x});
  script.fill(x.view(32, 8));
  script.rec.discard(x.view(60, 4));
  script.count();
  script.fill(x.view(40, 8));
  EXPECT_EQ(plan_of(script.finish()).stats().merged, 0U);
}

TEST(Merge, CutsKeepTheirPlace) {
  Script script;
  const BufferRef x = script.buffer("x");
  const uint32_t first = script.fill(x.view(0, 8));
  script.fill(x.view(8, 8));
  script.barrier();
  const uint32_t second = script.fill(x.view(8, 8), 1);
  script.fill(x.view(16, 8), 1);
  const uint32_t beside = script.read(x.view(0, 24));
  const Planned planned(script.finish());
  EXPECT_EQ(planned.lanes().stats().nodes, 3U);
  EXPECT_TRUE(planned.orders(first, second));
  EXPECT_TRUE(planned.orders(first, beside));
  EXPECT_TRUE(planned.leaves(second, beside));
}

TEST(Merge, NothingIsJoinedAcrossDebugGroupsOrOtherWork) {
  Script script;
  const BufferRef x = script.buffer("x");
  script.fill(x.view(0, 8));
  script.rec.begin_debug_group("inner");
  script.fill(x.view(8, 8));
  script.rec.end_debug_group();
  script.fill(x.view(16, 8));
  script.read(x);
  script.fill(x.view(24, 8));
  EXPECT_EQ(plan_of(script.finish()).stats().merged, 0U);
}

TEST(Merge, CanBeSwitchedOff) {
  Script script;
  const BufferRef x = script.buffer("x");
  script.fill(x.view(0, 8));
  script.fill(x.view(8, 8));
  EXPECT_EQ(plan_of(script.finish(), false).stats().nodes, 2U);
}

}  // namespace
}  // namespace pianola
