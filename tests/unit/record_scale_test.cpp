// SPDX-License-Identifier: Apache-2.0
// Recordings with very many of one thing. With a cost that grows with the square, each would take a minute or more.
#include <string>
#include <vector>

#include "pianola/plan.hpp"
#include "pianola/recorder.hpp"
#include "test_library.hpp"

namespace pianola {
namespace {

CommandBuffer finish(Recorder& recorder) {
  Result<CommandBuffer> commands = recorder.finish();
  EXPECT_TRUE(commands) << to_string(commands.error());
  return commands ? *commands : CommandBuffer();
}

TEST(RecordScale, ManyInnerSlotsMayReadOneRange) {
  constexpr uint32_t count = 300000;
  Recorder inner;
  for (uint32_t i = 0; i < count; ++i) inner.buffer("slot" + std::to_string(i), 64);
  const CommandBuffer commands = finish(inner);
  Recorder outer;
  const BufferRef x = outer.buffer("x", 64);
  ExecuteArguments arguments;
  for (uint32_t i = 0; i < count; ++i) arguments.bindings.push_back({SlotId{i}, x});
  outer.execute(commands, arguments);
  EXPECT_TRUE(outer.finish());
}

TEST(RecordScale, BindingsMayBePushedInAnyOrder) {
  constexpr uint32_t count = 300000;
  Recorder recorder;
  const BufferRef x = recorder.buffer("x", 64);
  for (uint32_t i = count; i-- > 0;) recorder.push_descriptor_set(0, {{{i, x}}});
  EXPECT_TRUE(recorder.finish());
}

TEST(RecordScale, ManyChannelsAreFoundByName) {
  constexpr uint32_t count = 200000;
  Recorder inner;
  const auto x = inner.buffer("x", 64);
  for (uint32_t i = 0; i < count; ++i) {
    inner.collective({.channel = inner.channel("channel" + std::to_string(i)), .send = x, .receive = x, .count = 4});
  }
  const CommandBuffer commands = finish(inner);
  Recorder outer;
  const BufferRef y = outer.buffer("y", 64);
  outer.execute(commands, {.bindings = {{x.slot, y}}});
  const auto plan = make_plan(finish(outer));
  ASSERT_TRUE(plan) << to_string(plan.error());
  EXPECT_EQ(plan->stats().nodes, count);
}

TEST(RecordScale, ManyDifferentCommandBuffersMayBeNested) {
  constexpr uint32_t count = 300000;
  Recorder outer;
  const BufferRef x = outer.buffer("x", 64);
  for (uint32_t i = 0; i < count; ++i) {
    Recorder inner;
    const BufferRef y = inner.buffer("y", 64);
    inner.fill(y, i);
    outer.execute(finish(inner), {.bindings = {{y.slot, x}}});
  }
  EXPECT_EQ(finish(outer).command_count(), count);
}

}  // namespace
}  // namespace pianola
