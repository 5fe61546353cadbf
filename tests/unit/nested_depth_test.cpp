// SPDX-License-Identifier: Apache-2.0
// Command buffers nested in one another very deep cost no stack: recorded, planned, printed, run and dropped.
#include "cpu_fixture.hpp"
#include "pianola/plan.hpp"

namespace pianola {
namespace {

using NestedDepth = CpuFixture;

constexpr uint32_t depth = 200000;

/// A fill of the slot "x" that stands in `levels` command buffers, each of which holds the next in a debug group.
CommandBuffer nest(uint32_t levels) {
  CommandBuffer inner;
  for (uint32_t level = 0; level <= levels; ++level) {
    Recorder recorder;
    const BufferRef x = recorder.buffer("x", 16);
    recorder.begin_debug_group("g");
    if (level == 0) {
      recorder.fill(x, 7U).barrier();
    } else {
      recorder.execute(inner, {.bindings = {{*inner.find_slot("x"), x}}});
    }
    recorder.end_debug_group();
    Result<CommandBuffer> outer = recorder.finish();
    EXPECT_TRUE(outer) << to_string(outer.error());
    if (!outer) return {};
    inner = *std::move(outer);
  }
  return inner;
}

TEST_F(NestedDepth, DroppingIsNoRecursion) {
  CommandBuffer commands = nest(depth);
  EXPECT_EQ(commands.command_count(), 3U);
  commands = {};
}

TEST_F(NestedDepth, PlanningPrintingAndRunningAreNoRecursion) {
  const CommandBuffer commands = nest(depth);
  EXPECT_NE(commands.to_string().find("execute #0 of 3 commands"), std::string::npos);
  for (const PlanForm form : {PlanForm::lanes, PlanForm::waves}) {
    const auto plan = make_plan(commands, {.form = form});
    ASSERT_TRUE(plan) << to_string(plan.error());
    EXPECT_EQ(plan->stats().nodes, 1U);
    EXPECT_NE(plan->to_string().find("g / g / g"), std::string::npos);
    EXPECT_NE(plan->to_graphviz().find("g / g / g"), std::string::npos);
  }
  const Device device = open();
  const Buffer memory = words(device, 4);
  const auto done = device.queue().run(commands, {.bindings = {{"x", memory}}});
  ASSERT_TRUE(done) << to_string(done.error());
  ASSERT_TRUE(done->wait());
  EXPECT_EQ(contents(memory), std::vector<uint32_t>(4, 7));
}

}  // namespace
}  // namespace pianola
