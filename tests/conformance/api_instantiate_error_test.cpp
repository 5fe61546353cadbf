// SPDX-License-Identifier: Apache-2.0
// Bad input to instantiate(): the device's limits, what it cannot do, and bindings that do not fit.

#include "fixture.hpp"

namespace pianola::conformance {
namespace {

class ApiInstantiateError : public ApiTest {};

/// One dispatch of mark_groups with this grid, the second command.
CommandBuffer grid_of(const Groups& groups) {
  Recorder rec;
  const BufferRef marks = rec.buffer("marks", 4);
  rec.barrier().dispatch(kernel("mark_groups"), {.groups = groups, .constants = {1U}, .bindings = {marks}});
  return must_finish(rec);
}

// S6
TEST_F(ApiInstantiateError, EachGroupCountHasItsLimit) {
  const auto limits = device().limits().max_groups;
  EXPECT_GE(*std::min_element(limits.begin(), limits.end()), 65535U);
  for (size_t axis = 0; axis < 3; ++axis) {
    const uint64_t over = uint64_t{limits[axis]} + 1;
    if (over > UINT32_MAX) continue;  // no count that can be recorded is too large
    Groups groups;
    (axis == 0 ? groups.x : axis == 1 ? groups.y : groups.z) = over;
    const auto graph = device().instantiate(grid_of(groups));
    const ErrorText text{.parts = {std::to_string(over), std::to_string(limits[axis])}, .command = 1};
    EXPECT_TRUE(fails_with(graph, Errc::limit_exceeded, text)) << "axis " << axis;
  }
}

// S6: a product over 32 bits must not wrap into something small
TEST_F(ApiInstantiateError, ALargeGridInSeveralDimensionsIsNotMistakenForASmallOne) {
  const auto limits = device().limits().max_groups;
  Groups groups{.x = limits[0], .y = limits[1], .z = limits[2]};
  EXPECT_TRUE(succeeded(device().instantiate(grid_of(groups))));
  if (limits[2] == UINT32_MAX) return;
  groups.z = uint64_t{limits[2]} + 1;
  EXPECT_TRUE(fails_with(device().instantiate(grid_of(groups)), Errc::limit_exceeded, {.command = 1}));
}

TEST_F(ApiInstantiateError, NamedGroupCountsAreCheckedWhenTheyAreGiven) {
  const uint32_t limit = device().limits().max_groups[1];
  if (limit == UINT32_MAX) return;
  Recorder rec;
  const BufferRef marks = rec.buffer("marks", 4);
  const ConstantRef count = rec.constant("count", 4);
  rec.fill(marks, 0U).barrier();
  rec.dispatch(kernel("mark_groups"), {.groups = {1, count}, .constants = {1U}, .bindings = {marks}});
  const CommandBuffer commands = must_finish(rec);
  const Buffer memory = make_buffer(repeated(5, 1));
  const ErrorText text{.parts = {std::to_string(limit + 1), std::to_string(limit)}, .command = 2};

  InstantiateOptions options{.bindings = {{"marks", memory}}};
  options.constants.emplace_back("count", limit + 1);
  EXPECT_TRUE(fails_with(device().instantiate(commands, options), Errc::limit_exceeded, text));
  options.constants.clear();
  const Graph graph = must_instantiate(commands, options);
  const auto submission = device().queue().submit(graph, {.constants = {{"count", limit + 1}}});
  EXPECT_TRUE(fails_with(submission, Errc::limit_exceeded, text));
  EXPECT_TRUE(succeeded(device().queue().wait_idle()));
  EXPECT_EQ(read_values<uint32_t>(memory), repeated(5, 1)) << "nothing may have run";
}

TEST_F(ApiInstantiateError, DispatchRangesMustStartWhereTheDeviceSays) {
  const uint32_t stated = device().limits().dispatch_alignment;
  const uint32_t needed = stated == 0 ? 4 : stated;
  if (needed == 1) return;
  Recorder rec;
  const BufferRef x = rec.buffer("x", 1024);
  rec.barrier().dispatch(kernel("iota"), {.constants = {1U, 1U}, .bindings = {x.view(needed / 2, 256)}});
  const auto graph = device().instantiate(must_finish(rec));
  EXPECT_TRUE(fails_with(graph, Errc::misaligned, {.parts = {"iota", std::to_string(needed)}, .command = 1}));
}

TEST_F(ApiInstantiateError, EmptyHandlesAreRefused) {
  EXPECT_TRUE(fails_with(device().instantiate(CommandBuffer()), Errc::invalid_argument));
  EXPECT_TRUE(fails_with(device().queue().run(CommandBuffer()), Errc::invalid_argument));
  EXPECT_TRUE(fails_with(device().queue().submit(Graph()), Errc::invalid_argument));
  const CommandBuffer commands = grid_of({});
  EXPECT_TRUE(fails_with(device().instantiate(commands, {.bindings = {{"marks", BufferView()}}}),
                         Errc::invalid_argument, {.parts = {"'marks'"}}));
}

TEST_F(ApiInstantiateError, LanesMustBeOneTo32) {
  for (const uint32_t lanes : {0U, 33U}) {
    InstantiateOptions options;
    options.plan.lanes = lanes;
    options.plan.form = PlanForm::lanes;
    const ErrorText text{.parts = {std::to_string(lanes), "32"}};
    EXPECT_TRUE(fails_with(device().instantiate(grid_of({}), options), Errc::invalid_argument, text));
  }
}

TEST_F(ApiInstantiateError, KernelsWithoutCodeForTheDeviceAreNamed) {
  const auto foreign = load_beside("foreign.pkl");
  ASSERT_TRUE(succeeded(foreign));
  Recorder rec;
  const BufferRef x = rec.buffer("x", 256);
  rec.fill(x, 1U).barrier().dispatch((*foreign)["foreign_iota"], {.constants = {64U}, .bindings = {x}});
  const CommandBuffer commands = must_finish(rec);
  const ErrorText text{.parts = {"foreign"}};
  EXPECT_TRUE(fails_with(device().instantiate(commands), Errc::missing_kernel, text));
  const Buffer memory = make_buffer(repeated(5, 64));
  EXPECT_TRUE(fails_with(device().queue().run(commands, {.bindings = {{"x", memory}}}), Errc::missing_kernel, text));
  EXPECT_EQ(read_values<uint32_t>(memory), repeated(5, 64)) << "nothing may have run";
}

TEST_F(ApiInstantiateError, DynamicWorkgroupMemoryOverTheLimitIsNamed) {
  Recorder rec;
  const BufferRef x = rec.buffer("x", 256);
  const BufferRef y = rec.buffer("y", 256);
  rec.fill(x, 1U).barrier().dispatch(packed_kernel("reverse_1m"), {.constants = {64U}, .bindings = {x, y}});
  const CommandBuffer commands = must_finish(rec);
  const uint32_t limit = device().limits().max_dynamic_shared_bytes;
  if (limit >= 1024 * 1024) {
    EXPECT_TRUE(succeeded(device().instantiate(commands)));
  } else {
    const ErrorText text{.parts = {"'reverse_1m'", "1048576", std::to_string(limit)}, .command = 2};
    EXPECT_TRUE(fails_with(device().instantiate(commands), Errc::limit_exceeded, text));
  }
}

class ApiCollective : public ApiTest {};

TEST_F(ApiCollective, IsRefusedAsUnsupported) {
  Recorder rec;
  const BufferRef x = rec.buffer("x", 64);
  const BufferRef y = rec.buffer("y", 64);
  rec.fill(x, 1U).barrier().collective({.channel = rec.channel("ring"), .send = x, .receive = y, .count = 16});
  const auto graph = device().instantiate(must_finish(rec));
  EXPECT_TRUE(fails_with(graph, Errc::unsupported, {.parts = {"collective"}, .command = 2}));
}

}  // namespace
}  // namespace pianola::conformance
