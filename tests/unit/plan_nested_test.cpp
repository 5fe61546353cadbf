// SPDX-License-Identifier: Apache-2.0
// Nested command buffers in plans: what they are mapped to, and how they are ordered.
#include <cstring>

#include "plan_fixture.hpp"

namespace pianola {
namespace {

TEST(PlanNested, InnerCommandsStandAtTheirOuterRanges) {
  Script inner;
  const BufferRef a = inner.buffer("a", 32);
  inner.rec.fill(a.view(8, 8), 5U);
  const CommandBuffer inner_list = inner.finish();

  Script script;
  const BufferRef x = script.buffer("x", 1024);
  script.rec.execute(inner_list, {.bindings = {{a.slot, x.view(256, 64)}}});
  script.rec.execute(inner_list, {.bindings = {{a.slot, x.view(512, 64)}}});
  auto plan = make_plan(script.finish());
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->stats().nodes, 2U);
  const auto& nodes = plan->data()->nodes;
  EXPECT_EQ(as<Fill>(*nodes[0].command).destination.offset, 264U);
  EXPECT_EQ(as<Fill>(*nodes[1].command).destination.offset, 520U);
  EXPECT_EQ(nodes[0].source, 0U);
  EXPECT_EQ(nodes[1].source, 1U);
  EXPECT_EQ(plan->stats().commands, 2U);
}

TEST(PlanNested, UnchangedCommandsArePointedTo) {
  Script script;
  const BufferRef x = script.buffer("x");
  script.write(x);
  const CommandBuffer commands = script.finish();
  auto plan = make_plan(commands);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->data()->nodes[0].command, &*commands.data()->begin());
}

TEST(PlanNested, InnerBarriersOrderOuterCommands) {
  Script inner;
  inner.rec.barrier();
  const CommandBuffer barrier = inner.finish();
  Script script;
  const BufferRef x = script.buffer("x");
  const uint32_t write = script.write(x);
  script.rec.execute(barrier);
  script.count();
  const uint32_t read = script.read(x);
  EXPECT_TRUE(Planned(script.finish()).orders(write, read));
}

TEST(PlanNested, EventsAreLocalToTheirCommandBuffer) {
  Script inner;
  const BufferRef a = inner.buffer("a");
  const EventRef inner_event = inner.rec.event();
  inner.rec.signal_event(inner_event);
  inner.write(a);
  inner.rec.wait_event(inner_event);
  const CommandBuffer inner_list = inner.finish();

  Script script;
  const BufferRef x = script.buffer("x");
  const EventRef event = script.rec.event();
  const uint32_t first = script.write(x);
  script.rec.signal_event(event);
  script.count();
  script.rec.execute(inner_list, {.bindings = {{a.slot, x}}});
  const uint32_t nested = script.count();
  script.rec.wait_event(event);
  script.count();
  const uint32_t read = script.read(x);
  const Planned planned(script.finish());
  EXPECT_TRUE(planned.orders(first, read));
  EXPECT_TRUE(planned.leaves(nested, read));
}

TEST(PlanNested, RangesAreMappedThroughEveryLevel) {
  Script leaf;
  const BufferRef a = leaf.buffer("a", 16);
  leaf.rec.copy(a.view(0, 4), a.view(8, 4));
  CommandBuffer list = leaf.finish();
  SlotId slot = a.slot;
  constexpr int levels = 100;
  for (int level = 0; level < levels; ++level) {
    Script outer;
    const BufferRef b = outer.buffer("b", 256 * (static_cast<uint64_t>(level) + 2));
    outer.rec.execute(list, {.bindings = {{slot, b.view(256)}}});
    list = outer.finish();
    slot = b.slot;
  }
  auto plan = make_plan(list);
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->stats().nodes, 1U);
  EXPECT_EQ(as<Copy>(*plan->data()->nodes[0].command).source.offset, 256U * levels + 8);
}

TEST(PlanNested, ConstantsBecomeValuesOrOuterNames) {
  Script inner;
  const BufferRef a = inner.buffer("a");
  const ConstantRef n = inner.rec.constant("n", 4);
  const ConstantRef m = inner.rec.constant("m", 4);
  inner.rec.dispatch(inner.kernels.work(), {.groups = {n, m, 1}, .uses = {{a, Access::out}}});
  const CommandBuffer inner_list = inner.finish();

  Script script;
  const BufferRef x = script.buffer("x");
  script.rec.constant("unused", 8);
  const ConstantRef k = script.rec.constant("k", 4);
  script.rec.execute(inner_list, {.bindings = {{a.slot, x}}, .constants = {{n.id, 3U}, {m.id, k}}});
  script.rec.execute(inner_list, {.bindings = {{a.slot, x}}, .constants = {{n.id, 0U}, {m.id, k}}});
  auto plan = make_plan(script.finish());
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->stats().nodes, 1U) << "a count of 0 does no work";
  EXPECT_EQ(plan->stats().elided, 1U);
  const auto& dispatch = as<DispatchCommand>(*plan->data()->nodes[0].command);
  EXPECT_EQ(dispatch.groups[0], 3U);
  EXPECT_EQ(dispatch.groups[1], static_cast<uint32_t>(k.id));
  EXPECT_EQ(dispatch.header.flags, DispatchCommand::group_is_constant[1]);
}

TEST(PlanNested, DebugGroupsNest) {
  Script inner;
  const BufferRef a = inner.buffer("a");
  inner.rec.begin_debug_group("inside");
  inner.write(a);
  inner.rec.end_debug_group();
  const CommandBuffer inner_list = inner.finish();
  Script script;
  const BufferRef x = script.buffer("x");
  script.rec.begin_debug_group("outside", 0xff0000ff);
  script.rec.execute(inner_list, {.bindings = {{a.slot, x}}});
  script.rec.end_debug_group();
  script.write(x);
  auto plan = make_plan(script.finish());
  ASSERT_TRUE(plan);
  const Plan::Data& data = *plan->data();
  const PlanGroup& group = data.groups[data.nodes[0].group];
  EXPECT_EQ(group.label, "inside");
  EXPECT_EQ(data.groups[group.parent].label, "outside");
  EXPECT_EQ(data.groups[group.parent].rgba, 0xff0000ffU);
  EXPECT_EQ(data.nodes[1].group, 0U);
}

}  // namespace
}  // namespace pianola
