// SPDX-License-Identifier: Apache-2.0
// Bindings that do not fit: the same errors at instantiate, at submit and at run, and nothing half applied.
#include "fixture.hpp"

namespace pianola::conformance {
namespace {

/// y = x + value, with slots of 256 bytes.
class ApiBindError : public ApiTest {
 protected:
  void SetUp() override {
    ApiTest::SetUp();
    Recorder rec;
    const BufferRef x = rec.buffer("x", 256);
    const BufferRef y = rec.buffer("y", 256);
    const ConstantRef value = rec.constant("value", 4);
    rec.copy(y, x).barrier();
    rec.dispatch(kernel("add_constant"), {.constants = {value, 64U}, .bindings = {y}});
    commands = must_finish(rec);
    source = make_buffer(counting(256));
    result = make_buffer(repeated(0, 256));
  }

  std::vector<SlotBinding> good() const { return {{"x", source.view(0, 256)}, {"y", result.view(0, 256)}}; }

  /// Refused wherever bindings are given, and the graph goes on with what it had.
  void refuses(const SubmitInfo& bad, Errc code, const std::vector<std::string>& parts) {
    const ErrorText text{.parts = parts};
    InstantiateOptions options{.bindings = bad.bindings, .constants = bad.constants};
    EXPECT_TRUE(fails_with(device().instantiate(commands, options), code, text)) << "instantiate";
    EXPECT_TRUE(fails_with(device().queue().run(commands, bad), code, text)) << "run";

    options = {.bindings = good(), .constants = {{"value", 5U}}};
    const Graph graph = must_instantiate(commands, options);
    ASSERT_TRUE(graph);
    EXPECT_TRUE(fails_with(device().queue().submit(graph, bad), code, text)) << "submit";
    expect_result_after(graph, 5);
  }

  void expect_result_after(const Graph& graph, uint32_t value) {
    EXPECT_TRUE(succeeded(device().queue().wait_idle()));
    EXPECT_TRUE(succeeded(result.write(0, repeated(77, 256))));
    const auto submission = device().queue().submit(graph);
    ASSERT_TRUE(succeeded(submission));
    EXPECT_TRUE(succeeded(submission->wait()));
    std::vector<uint32_t> wanted = repeated(77, 256);
    for (uint32_t i = 0; i < 64; ++i) wanted[i] = i + value;
    EXPECT_EQ(read_values<uint32_t>(result), wanted);
  }

  CommandBuffer commands;
  Buffer source, result;
};

// R2 holds for each of these: the good part of a bad binding must not stick.

TEST_F(ApiBindError, ReferencesOfAnotherRecorderAreRefused) {
  Recorder other;
  const BufferRef slot = other.buffer("x", 256);
  const ConstantRef constant = other.constant("value", 4);
  refuses({.bindings = {{"x", result.view(512, 256)}, {slot, source}}}, Errc::invalid_argument, {"recorder"});
  refuses({.bindings = {{BufferRef{}, source}}}, Errc::invalid_argument, {"recorder"});
  refuses({.constants = {{constant, 9U}}}, Errc::invalid_argument, {"recorder"});
  refuses({.constants = {{ConstantRef{}, 9U}}}, Errc::invalid_argument, {"recorder"});
}

TEST_F(ApiBindError, UnknownSlotsAreNamed) {
  refuses({.bindings = {{"x", result.view(512, 256)}, {"z", source}}}, Errc::invalid_argument, {"'z'"});
  refuses({.bindings = {{SlotId{2}, source}}}, Errc::invalid_argument, {"2"});
}

TEST_F(ApiBindError, TooSmallMemoryIsOutOfRange) {
  refuses({.bindings = {{"x", source.view(256, 255)}}}, Errc::out_of_range, {"'x'", "256", "255"});
  refuses({.bindings = {{"x", source.view(1024 - 256 + 4)}}}, Errc::out_of_range, {"'x'", "256", "252"});
}

TEST_F(ApiBindError, ViewsPastTheirBufferAreOutOfRange) {
  refuses({.bindings = {{"x", source.view(1024, 256)}}}, Errc::out_of_range, {"'x'", "1024"});
  refuses({.bindings = {{"x", source.view(2048, 256)}}}, Errc::out_of_range, {"'x'", "2048", "1024"});
  refuses({.bindings = {{"x", source.view(256, whole_size - 100)}}}, Errc::out_of_range, {"'x'"});
}

TEST_F(ApiBindError, MisalignedMemoryIsRefused) {
  for (const uint64_t offset : {1U, 4U, 16U, 128U}) {
    refuses({.bindings = {{"x", source.view(offset, 256)}}}, Errc::misaligned, {"'x'", "256", std::to_string(offset)});
  }
}

TEST_F(ApiBindError, OverlappingSlotsAreRefusedWhereOneIsWritten) {
  refuses({.bindings = {{"x", result.view(0, 256)}, {"y", result.view(0, 256)}}}, Errc::overlap, {"'x'", "'y'"});
}

TEST_F(ApiBindError, ConstantsOfAnotherSizeOrNameAreRefused) {
  refuses({.bindings = good(), .constants = {{"value", uint64_t{1}}}}, Errc::mismatch, {"'value'", "4", "8"});
  refuses({.bindings = good(), .constants = {{"value", uint8_t{1}}}}, Errc::mismatch, {"'value'", "4", "1"});
  refuses({.bindings = good(), .constants = {{"volume", 1U}}}, Errc::invalid_argument, {"'volume'"});
  refuses({.bindings = good(), .constants = {{ConstantId{1}, 1U}}}, Errc::invalid_argument, {"1"});
}

TEST_F(ApiBindError, MemoryOfAnotherDeviceIsRefused) {
  const auto other = open_device();
  ASSERT_TRUE(succeeded(other));
  const auto foreign = other->allocate(256);
  ASSERT_TRUE(succeeded(foreign));
  refuses({.bindings = {{"x", *foreign}}}, Errc::invalid_argument, {"'x'", "device"});
}

TEST_F(ApiBindError, EmptyBuffersAreRefused) {
  refuses({.bindings = {{"y", BufferView()}}}, Errc::invalid_argument, {"'y'"});
}

TEST_F(ApiBindError, AGraphOfAnotherDeviceIsRefused) {
  const auto other = open_device();
  ASSERT_TRUE(succeeded(other));
  const auto graph = other->instantiate(commands);
  ASSERT_TRUE(succeeded(graph));
  EXPECT_TRUE(fails_with(device().queue().submit(*graph, {.bindings = good(), .constants = {{"value", 1U}}}),
                         Errc::invalid_argument, {.parts = {"device"}}));
}

TEST_F(ApiBindError, UnboundSlotsAndConstantsAreNamed) {
  const Graph graph = must_instantiate(commands);
  const Queue queue = device().queue();
  const SlotBinding x = good()[0];
  EXPECT_TRUE(fails_with(queue.submit(graph), Errc::unbound, {.parts = {"'x'"}}));
  EXPECT_TRUE(fails_with(queue.submit(graph, {.bindings = {x}}), Errc::unbound, {.parts = {"'y'"}}));
  EXPECT_TRUE(fails_with(queue.submit(graph, {.bindings = good()}), Errc::unbound, {.parts = {"'value'"}}));
  EXPECT_TRUE(fails_with(queue.run(commands, {.bindings = good()}), Errc::unbound, {.parts = {"'value'"}}));
}

TEST_F(ApiBindError, TheMemoryKindMustBeTheOneAskedFor) {
  Recorder rec;
  const BufferRef x = rec.buffer("x", 64, {.kind = MemoryKind::readback});
  rec.fill(x, 1U);
  commands = must_finish(rec);
  EXPECT_TRUE(fails_with(device().instantiate(commands, {.bindings = {{"x", source}}}), Errc::mismatch,
                         {.parts = {"'x'", "readback", "device"}}));
  const Buffer fitting = make_buffer(Bytes(64), MemoryKind::readback);
  EXPECT_TRUE(succeeded(device().instantiate(commands, {.bindings = {{"x", fitting}}})));
}

TEST_F(ApiBindError, SlotsThatAreOnlyReadMayOverlap) {
  Recorder rec;
  const BufferRef a = rec.buffer("a", 256);
  const BufferRef b = rec.buffer("b", 256);
  const BufferRef sum = rec.buffer("sum", 256);
  rec.dispatch(kernel("combine"), {.constants = {10U, 64U}, .bindings = {a, b, sum}});
  const auto submission =
      device().queue().run(must_finish(rec), {.bindings = {{"a", source}, {"b", source}, {"sum", result}}});
  ASSERT_TRUE(succeeded(submission));
  EXPECT_TRUE(succeeded(submission->wait()));
  const std::vector<uint32_t> got = read_values<uint32_t>(result);
  for (uint32_t i = 0; i < 64; ++i) ASSERT_EQ(got[i], 11 * i);
}

TEST_F(ApiBindError, OnlyTwoSlotsThatBothMayAliasMayShareWrittenMemory) {
  for (const bool both : {true, false}) {
    Recorder rec;
    const BufferRef a = rec.buffer("a", 256, {.may_alias = true});
    const BufferRef b = rec.buffer("b", 256, {.may_alias = both});
    const BufferRef out = rec.buffer("out", 256);
    rec.fill(a, 3U).barrier().copy(out, b);
    const auto submission =
        device().queue().run(must_finish(rec), {.bindings = {{a, source}, {b, source}, {out, result}}});
    if (!both) {
      EXPECT_TRUE(fails_with(submission, Errc::overlap, {.parts = {"'a'", "'b'"}}));
      continue;
    }
    ASSERT_TRUE(succeeded(submission));
    EXPECT_TRUE(succeeded(submission->wait()));
    EXPECT_EQ(read_values<uint32_t>(result)[63], 3U);
  }
}

}  // namespace
}  // namespace pianola::conformance
