// SPDX-License-Identifier: Apache-2.0
// Waves: as few sync points as can be, each with its kinds and ranges.
#include "plan_fixture.hpp"

namespace pianola {
namespace {

Plan waves_of(const CommandBuffer& commands, const PlanOptions& options = {}) {
  auto plan = make_plan(commands, {.form = PlanForm::waves}, options);
  EXPECT_TRUE(plan) << to_string(plan.error());
  return *plan;
}

constexpr auto transfer = static_cast<uint8_t>(WorkKind::transfer);
constexpr auto compute = static_cast<uint8_t>(WorkKind::compute);

std::span<const Range> ranges_of(const Plan& plan, size_t sync) {
  const Plan::Data& data = *plan.data();
  const uint32_t first = data.syncs[sync].first_range;
  return std::span(data.sync_ranges).subspan(first, data.syncs[sync + 1].first_range - first);
}

TEST(PlanWaves, BarriersThatNothingNeedsMakeNoSyncPoint) {
  Script script;
  std::vector<BufferRef> buffers;
  for (int i = 0; i < 20; ++i) {
    script.write(script.buffer("x" + std::to_string(i)));
    script.barrier();
  }
  EXPECT_EQ(waves_of(script.finish()).stats().sync_points, 0U);
}

TEST(PlanWaves, SyncPointsAreTheLongestChain) {
  Script script;
  const BufferRef x = script.buffer("x");
  const BufferRef y = script.buffer("y");
  for (int i = 0; i < 10; ++i) {
    script.write(x);
    script.barrier();
    if (i < 4) script.write(y);
    script.barrier();
  }
  EXPECT_EQ(waves_of(script.finish()).stats().sync_points, 9U);
}

TEST(PlanWaves, ASyncPointHasItsKindsAndRanges) {
  Script script;
  const BufferRef x = script.buffer("x");
  const BufferRef y = script.buffer("y");
  script.fill(x.view(0, 32));
  script.fill(y.view(0, 16));
  script.fill(y.view(20, 4), 3);
  script.barrier();
  script.read(x.view(8, 8));
  script.read(x.view(16, 8));
  script.read(y.view(0, 64));
  const Plan plan = waves_of(script.finish());
  ASSERT_EQ(plan.data()->syncs.size(), 2U);
  const SyncPoint& sync = plan.data()->syncs[0];
  EXPECT_EQ(sync.source_kinds, transfer);
  EXPECT_EQ(sync.destination_kinds, compute);
  EXPECT_FALSE(sync.all_memory);
  const auto ranges = ranges_of(plan, 0);
  ASSERT_EQ(ranges.size(), 3U);
  EXPECT_EQ(ranges[0].slot, x.slot);
  EXPECT_EQ(ranges[0].offset, 8U);
  EXPECT_EQ(ranges[0].size, 16U);
  EXPECT_EQ(ranges[1].slot, y.slot);
  EXPECT_EQ(ranges[1].offset, 0U);
  EXPECT_EQ(ranges[1].size, 16U);
  EXPECT_EQ(ranges[2].offset, 20U);
  EXPECT_EQ(ranges[2].size, 4U);
}

TEST(PlanWaves, OpaqueKernelsNeedAllMemory) {
  Script script;
  const BufferRef x = script.buffer("x");
  script.fill(x);
  script.barrier();
  script.opaque();
  const Plan plan = waves_of(script.finish());
  ASSERT_EQ(plan.data()->syncs.size(), 2U);
  EXPECT_TRUE(plan.data()->syncs[0].all_memory);
  EXPECT_EQ(plan.data()->syncs[0].source_kinds, transfer);
}

TEST(PlanWaves, AWaveStartsWithTheKindThatTheLastOneEndedWith) {
  Script script;
  const BufferRef x = script.buffer("x");
  const BufferRef y = script.buffer("y");
  for (int i = 0; i < 6; ++i) {
    script.fill(x);
    script.write(y);
    script.barrier();
  }
  EXPECT_EQ(waves_of(script.finish()).stats().kind_switches, 6U);
}

TEST(PlanWaves, SourceKindsOfManyReadersAreAllKept) {
  Script script;
  const BufferRef x = script.buffer("x");
  const BufferRef y = script.buffer("y", 4096);
  script.rec.copy(y.view(0, 64), x);
  script.count();
  for (int i = 0; i < 300; ++i) script.read(x);
  script.barrier();
  script.write(x);
  const Plan plan = waves_of(script.finish());
  ASSERT_EQ(plan.data()->syncs.size(), 2U);
  EXPECT_EQ(plan.data()->syncs[0].source_kinds, transfer | compute);
}

}  // namespace
}  // namespace pianola
