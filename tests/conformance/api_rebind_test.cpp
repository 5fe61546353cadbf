// SPDX-License-Identifier: Apache-2.0
// Rebinding: the last one given wins, every field counts, and nothing is shared that should not be.
#include "fixture.hpp"

namespace pianola::conformance {
namespace {

/// out = in, in pieces of 256 bytes.
class ApiRebind : public ApiTest {
 protected:
  static CommandBuffer copy_list() {
    Recorder rec;
    const BufferRef in = rec.buffer("in", 256);
    const BufferRef out = rec.buffer("out", 256);
    rec.dispatch(kernel("slow_copy"), {.constants = {2000U, 64U}, .bindings = {in, out}});
    return must_finish(rec);
  }
  static void run(const Graph& graph, const SubmitInfo& info = {}) {
    const auto submission = device().queue().submit(graph, info);
    ASSERT_TRUE(succeeded(submission));
    EXPECT_TRUE(succeeded(submission->wait()));
  }
  static std::vector<uint32_t> piece(const Buffer& buffer, uint64_t offset) {
    std::vector<uint32_t> values(64);
    EXPECT_TRUE(succeeded(buffer.read(offset, values)));
    return values;
  }
};

TEST_F(ApiRebind, TheLastBindingGivenWins) {
  const Buffer recorded = make_buffer(repeated(1, 64));
  const Buffer at_instantiate = make_buffer(repeated(2, 64));
  const Buffer at_submit = make_buffer(repeated(3, 64));
  const Buffer out = make_buffer(repeated(0, 64));
  Recorder rec;
  const BufferRef in = rec.buffer(recorded);
  rec.copy(rec.buffer("out", 256), in);
  const CommandBuffer commands = must_finish(rec);

  run(must_instantiate(commands, {.bindings = {{"out", out}}}));
  EXPECT_EQ(read_values<uint32_t>(out), repeated(1, 64));
  const Graph graph = must_instantiate(commands, {.bindings = {{in, at_instantiate}, {"out", out}}});
  run(graph);
  EXPECT_EQ(read_values<uint32_t>(out), repeated(2, 64));
  run(graph, {.bindings = {{in, at_submit}}});
  EXPECT_EQ(read_values<uint32_t>(out), repeated(3, 64));
  run(graph);
  EXPECT_EQ(read_values<uint32_t>(out), repeated(2, 64)) << "a binding given at submit holds for that submission only";
}

TEST_F(ApiRebind, ASlotIsFoundByReferenceNumberAndName) {
  const Buffer in = make_buffer(counting(64));
  const Buffer out = make_buffer(repeated(0, 64));
  const CommandBuffer commands = copy_list();
  const Graph graph = must_instantiate(commands);
  run(graph, {.bindings = {{SlotId{0}, in}, {std::string("out"), out}}});
  EXPECT_EQ(read_values<uint32_t>(out), counting(64));
  EXPECT_EQ(commands.find_slot("out"), SlotId{1});
  EXPECT_EQ(commands.find_slot("nothing"), std::nullopt);
}

// R4
TEST_F(ApiRebind, ChangingAnySingleFieldTakesEffect) {
  const Buffer first = make_buffer(counting(192));
  const Buffer second = make_buffer(counting(192, 1000));
  const Buffer out = make_buffer(repeated(0, 192));
  const Graph graph = must_instantiate(copy_list(), {.bindings = {{"in", first}, {"out", out}}});
  run(graph);
  EXPECT_EQ(piece(out, 0), counting(64));
  run(graph, {.bindings = {{"in", first.view(256)}}});  // the offset alone
  EXPECT_EQ(piece(out, 0), counting(64, 64));
  run(graph, {.bindings = {{"in", second.view(256)}}});  // the buffer alone
  EXPECT_EQ(piece(out, 0), counting(64, 1064));
  run(graph, {.bindings = {{"in", second.view(256)}, {"out", out.view(512)}}});  // where it goes
  EXPECT_EQ(piece(out, 512), counting(64, 1064));
  run(graph, {.bindings = {{"in", second.view(256, 256)}, {"out", out.view(256)}}});  // the size of a view
  EXPECT_EQ(piece(out, 256), counting(64, 1064));
  run(graph);
  EXPECT_EQ(piece(out, 0), counting(64));
}

// R4
TEST_F(ApiRebind, ChangingOnlyANamedConstantTakesEffect) {
  Recorder rec;
  const BufferRef out = rec.buffer("out", 256);
  const ConstantRef first = rec.constant("first", 4);
  const ConstantRef count = rec.constant("count", 4);
  const ConstantRef groups = rec.constant("groups", 4);
  rec.fill(out, 0U).barrier();
  rec.dispatch(kernel("iota"), {.groups = {groups}, .constants = {first, count}, .bindings = {out}});
  const CommandBuffer commands = must_finish(rec);
  const Buffer memory = make_buffer(repeated(0, 64));
  const Graph graph = must_instantiate(
      commands, {.bindings = {{"out", memory}}, .constants = {{"first", 7U}, {"count", 64U}, {"groups", 1U}}});
  const auto wanted = [](uint32_t start, uint32_t number) {
    std::vector<uint32_t> values = repeated(0, 64);
    for (uint32_t i = 0; i < number; ++i) values[i] = start + i;
    return values;
  };
  run(graph);
  EXPECT_EQ(read_values<uint32_t>(memory), wanted(7, 64));
  run(graph, {.constants = {{first, 9U}}});
  EXPECT_EQ(read_values<uint32_t>(memory), wanted(9, 64));
  run(graph, {.constants = {{"count", 10U}}});
  EXPECT_EQ(read_values<uint32_t>(memory), wanted(7, 10));
  run(graph, {.constants = {{"groups", 0U}}});
  EXPECT_EQ(read_values<uint32_t>(memory), wanted(7, 0));
  run(graph);
  EXPECT_EQ(read_values<uint32_t>(memory), wanted(7, 64));
}

TEST_F(ApiRebind, SlotsWithoutAlignmentTakeMemoryAtAnyByte) {
  for (const uint64_t offset : {0U, 1U, 2U, 3U, 5U, 17U}) {
    Bytes wanted = pattern_bytes(600, 1);
    const Bytes source = pattern_bytes(600, 2);
    const Bytes update = pattern_bytes(33, 3);
    const Buffer from = make_buffer(source);
    const Buffer to = make_buffer(wanted);
    Recorder rec;
    const BufferRef in = rec.buffer("in", 256, {.alignment = 1});
    const BufferRef out = rec.buffer("out", 256, {.alignment = 1});
    rec.fill(out.view(0, 100), 0x01020304U).copy(out.view(100, 101), in.view(3, 101)).update(out.view(201, 33), update);
    const SubmitInfo info{.bindings = {{"in", from.view(offset + 1)}, {"out", to.view(offset)}}};
    const auto submission = device().queue().run(must_finish(rec), info);
    ASSERT_TRUE(succeeded(submission));
    EXPECT_TRUE(succeeded(submission->wait()));
    paint(wanted, offset, 100, to_bytes(std::vector<uint32_t>{0x01020304U}));
    const auto at = wanted.begin() + static_cast<std::ptrdiff_t>(offset);
    std::copy_n(source.begin() + static_cast<std::ptrdiff_t>(offset + 4), 101, at + 100);
    std::copy(update.begin(), update.end(), at + 201);
    EXPECT_TRUE(same_bytes(read_bytes(to), wanted)) << "offset " << offset;
  }
}

// R1
TEST_F(ApiRebind, SubmissionsInFlightKeepWhatTheyWereGiven) {
  constexpr uint32_t count = 50;
  const Buffer in = make_buffer(counting(64 * count));
  const Buffer out = make_buffer(repeated(0, 64 * count));
  const Graph graph = must_instantiate(copy_list());
  std::vector<Submission> submissions;
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t from = 256 * uint64_t{i};
    const uint64_t to = 256 * uint64_t{count - 1 - i};
    auto submission =
        device().queue().submit(graph, {.bindings = {{"in", in.view(from, 256)}, {"out", out.view(to, 256)}}});
    ASSERT_TRUE(succeeded(submission));
    submissions.push_back(*submission);
  }
  for (const Submission& submission : submissions) EXPECT_TRUE(succeeded(submission.wait()));
  for (uint32_t i = 0; i < count; ++i) EXPECT_EQ(piece(out, 256 * uint64_t{count - 1 - i}), counting(64, 64 * i));
}

// R1: held back by a semaphore, so that it surely has not run when the next one is given other memory
TEST_F(ApiRebind, ASubmissionThatHasNotStartedKeepsItsBindings) {
  const auto gate = Semaphore::create();
  ASSERT_TRUE(succeeded(gate));
  const Buffer in = make_buffer(counting(64));
  const Buffer out_a = make_buffer(repeated(0, 64));
  const Buffer out_b = make_buffer(repeated(0, 64));
  const Graph graph = must_instantiate(copy_list(), {.bindings = {{"in", in}}});
  const auto a = device().queue().submit(graph, {.bindings = {{"out", out_a}}, .wait = {{*gate, 1}}});
  const auto b = device().queue().submit(graph, {.bindings = {{"out", out_b}}});
  ASSERT_TRUE(succeeded(a) && succeeded(b));
  EXPECT_TRUE(succeeded(gate->signal(1)));
  EXPECT_TRUE(succeeded(a->wait()));
  EXPECT_TRUE(succeeded(b->wait()));
  EXPECT_EQ(read_values<uint32_t>(out_a), counting(64));
  EXPECT_EQ(read_values<uint32_t>(out_b), counting(64));
}

// R6
TEST_F(ApiRebind, TwoGraphsOfOneRecordingAreIndependent) {
  const Buffer in_a = make_buffer(counting(64, 100));
  const Buffer in_b = make_buffer(counting(64, 200));
  const Buffer out_a = make_buffer(repeated(0, 64));
  const Buffer out_b = make_buffer(repeated(0, 64));
  const CommandBuffer commands = copy_list();
  const Graph a = must_instantiate(commands, {.bindings = {{"in", in_a}, {"out", out_a}}});
  Graph b = must_instantiate(commands, {.bindings = {{"in", in_b}, {"out", out_b}}});
  run(a, {.bindings = {{"in", in_b}}});
  run(b);
  EXPECT_EQ(read_values<uint32_t>(out_a), counting(64, 200));
  EXPECT_EQ(read_values<uint32_t>(out_b), counting(64, 200));
  b = Graph();
  run(a);
  EXPECT_EQ(read_values<uint32_t>(out_a), counting(64, 100));
}

// R3, as far as a device can show it without counting: ten thousand rebinds that all take effect
TEST_F(ApiRebind, TenThousandRebindsAllTakeEffect) {
  const Buffer in = make_buffer(counting(64 * 7));
  const Buffer out = make_buffer(repeated(0, 64 * 5));
  Recorder rec;
  const BufferRef from = rec.buffer("in", 256);
  rec.copy(rec.buffer("out", 256), from);
  const Graph graph = must_instantiate(must_finish(rec));
  for (uint64_t i = 0; i < 10000; ++i) {
    const uint64_t source = 256 * (i % 7);
    const uint64_t target = 256 * (i % 5);
    const SubmitInfo info{.bindings = {{"in", in.view(source, 256)}, {"out", out.view(target, 256)}}};
    if (i % 997 != 0) {
      ASSERT_TRUE(succeeded(device().queue().submit(graph, info)));
      continue;
    }
    run(graph, info);
    ASSERT_EQ(piece(out, target), counting(64, static_cast<uint32_t>(source / 4)));
  }
}

}  // namespace
}  // namespace pianola::conformance
