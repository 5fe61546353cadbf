// SPDX-License-Identifier: Apache-2.0
// What barriers, narrowed barriers and events order in each mode.
#include "plan_fixture.hpp"

namespace pianola {
namespace {

// A barrier with nothing since the last one must not lose what came before.
TEST(PlanBarriers, LeadingDoubledAndTrailingOnesKeepOrder) {
  Script script;
  const BufferRef x = script.buffer("x");
  script.barrier();
  script.barrier();
  const uint32_t write = script.write(x);
  script.barrier();
  script.barrier();
  script.barrier();
  const uint32_t read = script.read(x);
  script.barrier();
  const Planned planned(script.finish());
  EXPECT_TRUE(planned.orders(write, read));
  EXPECT_EQ(planned.lanes().stats().barriers_recorded, 6U);
}

TEST(PlanBarriers, OnlyBarriersMakeAnEmptyPlan) {
  Script script;
  script.barrier();
  script.barrier();
  const Planned planned(script.finish());
  EXPECT_EQ(planned.lanes().stats().nodes, 0U);
  EXPECT_EQ(planned.waves().stats().sync_points, 0U);
  EXPECT_TRUE(planned.waves().data()->order.empty());
}

TEST(PlanBarriers, ABarrierFarBackStillCounts) {
  Script script;
  const BufferRef x = script.buffer("x");
  const BufferRef y = script.buffer("y");
  const uint32_t write = script.write(x);
  for (int i = 0; i < 5; ++i) {
    script.barrier();
    script.write(y);
  }
  const uint32_t read = script.read(x);
  EXPECT_TRUE(Planned(script.finish()).orders(write, read));
}

// An unrelated fill between, of another kind, must not take the barrier for itself.
TEST(PlanBarriers, AnUnrelatedFillDoesNotHideADispatch) {
  Script script;
  const BufferRef x = script.buffer("x");
  const BufferRef y = script.buffer("y");
  const uint32_t dispatch = script.write(x);
  const uint32_t fill = script.fill(y);
  script.barrier();
  const uint32_t consumer = script.read(x);
  const Planned planned(script.finish());
  EXPECT_TRUE(planned.orders(dispatch, consumer));
  EXPECT_TRUE(planned.leaves(fill, consumer));
  const Plan::Data& waves = *planned.waves().data();
  ASSERT_EQ(waves.syncs.size(), 2U);
  EXPECT_EQ(waves.syncs[0].source_kinds, static_cast<uint8_t>(WorkKind::compute));
}

TEST(PlanBarriers, ANarrowedOneOrdersConflictsOnItsRangesOnly) {
  Script script;
  const BufferRef x = script.buffer("x");
  const BufferRef y = script.buffer("y");
  const uint32_t write_x = script.write(x);
  const uint32_t write_y = script.write(y);
  script.barrier({x.view(16, 16)});
  const uint32_t inside = script.read(x.view(20, 4));
  const uint32_t across = script.read(x.view(0, 17));
  const uint32_t outside = script.read(x.view(0, 16));
  const uint32_t beyond = script.read(x.view(32, 8));
  const uint32_t other = script.read(y);
  const Planned planned(script.finish());
  EXPECT_TRUE(planned.orders(write_x, inside));
  EXPECT_TRUE(planned.orders(write_x, across));
  EXPECT_TRUE(planned.leaves(write_x, outside));
  EXPECT_TRUE(planned.leaves(write_x, beyond));
  EXPECT_TRUE(planned.leaves(write_y, other));
}

TEST(PlanBarriers, NarrowedOnesDoNotCoverWhatComesAfterThem) {
  Script script;
  const BufferRef x = script.buffer("x");
  const uint32_t first = script.write(x);
  script.barrier({x});
  const uint32_t second = script.write(x);
  const uint32_t third = script.write(x);
  script.barrier();
  const uint32_t last = script.read(x);
  const Planned planned(script.finish());
  EXPECT_TRUE(planned.orders(first, second));
  EXPECT_TRUE(planned.orders(first, third));
  EXPECT_TRUE(planned.leaves(second, third));
  EXPECT_TRUE(planned.orders(second, last));
  EXPECT_TRUE(planned.orders(third, last));
}

TEST(PlanBarriers, ANarrowedOneOnNoRangeOrdersNothing) {
  Script script;
  const BufferRef x = script.buffer("x");
  const uint32_t first = script.write(x);
  script.rec.barrier(std::span<const BufferRef>());
  script.count();
  const uint32_t second = script.write(x);
  EXPECT_TRUE(Planned(script.finish()).leaves(first, second));
}

TEST(PlanBarriers, NarrowedOnesKeepOpaqueKernelsInOrder) {
  Script script;
  const BufferRef x = script.buffer("x");
  const uint32_t write = script.write(x);
  script.barrier({x});
  const uint32_t opaque = script.opaque();
  script.barrier({x});
  const uint32_t read = script.read(x);
  const Planned planned(script.finish());
  EXPECT_TRUE(planned.orders(write, opaque));
  EXPECT_TRUE(planned.orders(opaque, read));
}

TEST(PlanBarriers, NarrowedOnesCoverAliasingSlots) {
  Script script;
  const BufferRef a = script.buffer("a", 64, true);
  const BufferRef b = script.buffer("b", 64, true);
  const uint32_t write = script.write(a);
  script.barrier({a});
  const uint32_t read = script.read(b);
  EXPECT_TRUE(Planned(script.finish()).orders(write, read));
}

TEST(PlanBarriers, AnEventOrdersWhatCameBeforeItsSignal) {
  Script script;
  const BufferRef x = script.buffer("x");
  const EventRef event = script.rec.event();
  const uint32_t before = script.write(x.view(0, 32));
  script.rec.signal_event(event);
  script.count();
  const uint32_t between = script.write(x.view(32, 32));
  script.rec.wait_event(event);
  script.count();
  const uint32_t low = script.read(x.view(0, 32));
  const uint32_t high = script.read(x.view(32, 32));
  const Planned planned(script.finish());
  EXPECT_TRUE(planned.orders(before, low));
  EXPECT_TRUE(planned.leaves(between, high));
  EXPECT_TRUE(planned.leaves(before, between));
}

TEST(PlanBarriers, AWaitMeansTheLatestSignal) {
  Script script;
  const BufferRef x = script.buffer("x");
  const EventRef event = script.rec.event();
  script.rec.signal_event(event);
  script.count();
  const uint32_t write = script.write(x);
  script.rec.reset_event(event);
  script.count();
  script.rec.signal_event(event);
  script.count();
  script.rec.wait_event(event);
  script.count();
  const uint32_t read = script.read(x);
  EXPECT_TRUE(Planned(script.finish()).orders(write, read));
}

TEST(PlanBarriers, AnOlderWaitDoesNotUndoABarrier) {
  Script script;
  const BufferRef x = script.buffer("x");
  const EventRef event = script.rec.event();
  script.rec.signal_event(event);
  script.count();
  const uint32_t write = script.write(x);
  script.barrier();
  script.rec.wait_event(event);
  script.count();
  const uint32_t read = script.read(x);
  EXPECT_TRUE(Planned(script.finish()).orders(write, read));
}

TEST(PlanBarriers, InferredOrdersEveryConflictInListOrder) {
  Script script;
  const BufferRef x = script.buffer("x");
  const uint32_t first = script.write(x);
  const uint32_t read = script.read(x.view(0, 8));
  const uint32_t other = script.read(x.view(8, 8));
  const uint32_t second = script.write(x.view(0, 12));
  const uint32_t last = script.read(x);
  const Planned planned(script.finish(), {.ordering = Ordering::inferred});
  EXPECT_TRUE(planned.orders(first, read));
  EXPECT_TRUE(planned.orders(first, other));
  EXPECT_TRUE(planned.leaves(read, other));
  EXPECT_TRUE(planned.orders(read, second));
  EXPECT_TRUE(planned.orders(other, second));
  EXPECT_TRUE(planned.orders(second, last));
}

TEST(PlanBarriers, InferredOrdersOpaqueKernelsAgainstAll) {
  Script script;
  const BufferRef x = script.buffer("x");
  const uint32_t before = script.read(x);
  const uint32_t opaque = script.opaque();
  const uint32_t after = script.read(x);
  const Planned planned(script.finish(), {.ordering = Ordering::inferred});
  EXPECT_TRUE(planned.orders(before, opaque));
  EXPECT_TRUE(planned.orders(opaque, after));
}

TEST(PlanBarriers, SerialIsOneChain) {
  Script script;
  const BufferRef x = script.buffer("x");
  const uint32_t first = script.read(x);
  const uint32_t second = script.read(x);
  const uint32_t third = script.read(x);
  const Planned planned(script.finish(), {.ordering = Ordering::serial});
  EXPECT_TRUE(planned.orders(first, second));
  EXPECT_TRUE(planned.orders(second, third));
  EXPECT_EQ(planned.lanes().stats().lanes, 1U);
  EXPECT_EQ(planned.lanes().stats().edges, 0U);
  EXPECT_EQ(planned.waves().stats().sync_points, 2U);
}

TEST(PlanBarriers, ZeroWorkBetweenConflictsKeepsTheirOrder) {
  Script script;
  const BufferRef x = script.buffer("x");
  const uint32_t write = script.write(x);
  script.barrier();
  script.fill(x.view(0, 0));
  script.rec.dispatch(script.kernels.work(), {.groups = {0, 1, 1}, .uses = {{x, Access::inout}}});
  script.count();
  script.rec.copy(x.view(0, 0), x.view(32, 0)).update(x.view(0, 0), std::span<const std::byte>());
  script.count();
  script.count();
  script.barrier();
  const uint32_t read = script.read(x);
  const Planned planned(script.finish());
  EXPECT_TRUE(planned.orders(write, read));
  EXPECT_EQ(planned.lanes().stats().elided, 4U);
  EXPECT_EQ(planned.lanes().stats().nodes, 2U);
}

TEST(PlanBarriers, GroupsFromNamedConstantsAreKept) {
  Script script;
  const BufferRef x = script.buffer("x");
  const ConstantRef n = script.rec.constant("n", 4);
  script.rec.dispatch(script.kernels.work(), {.groups = {n}, .uses = {{x, Access::inout}}});
  script.count();
  EXPECT_EQ(Planned(script.finish()).lanes().stats().nodes, 1U);
}

}  // namespace
}  // namespace pianola
