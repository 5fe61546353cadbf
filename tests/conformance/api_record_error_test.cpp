// SPDX-License-Identifier: Apache-2.0
// Bad input while recording: each verb's errors come out of finish() with code, text and the command's index.
#include "fixture.hpp"

namespace pianola::conformance {
namespace {

/// A recorder with two slots; two good commands are recorded before the bad one.
struct Script {
  Recorder rec;
  BufferRef x = rec.buffer("x", 256);
  BufferRef y = rec.buffer("y", 256);
  ConstantRef four = rec.constant("four", 4);
  ConstantRef eight = rec.constant("eight", 8);
  EventRef event = rec.event();
  ChannelRef channel = rec.channel("ring");
  Script() { rec.fill(x, 1U).barrier(); }
};

class ApiRecordError : public ApiTest {
 protected:
  /// `bad` records one command, the third, which must fail so. Commands after it are ignored.
  template <class Bad>
  void refuses(Errc code, const std::vector<std::string>& parts, Bad&& bad) {
    Script script;
    bad(script);
    script.rec.fill(script.x, 2U).barrier();
    EXPECT_TRUE(fails_with(script.rec.finish(), code, {.parts = parts, .command = 2}));
  }
  /// The same for what appends no command of its own.
  template <class Bad>
  void refuses_state(Errc code, const std::vector<std::string>& parts, Bad&& bad) {
    Script script;
    bad(script);
    EXPECT_TRUE(fails_with(script.rec.finish(), code, {.parts = parts}));
  }
};

TEST_F(ApiRecordError, FillPastTheEndNamesRangeAndSlot) {
  refuses(Errc::out_of_range, {"fill", "64", "224", "'x'", "256"},
          [](Script& s) { s.rec.fill(s.x.view(224, 64), 1U); });
  refuses(Errc::out_of_range, {"fill", "257"}, [](Script& s) { s.rec.fill(s.x.view(257, 0), 1U); });
}

TEST_F(ApiRecordError, RangesThatWrapAreOutOfRange) {
  const uint64_t huge = whole_size - 3;
  refuses(Errc::out_of_range, {"'x'"}, [&](Script& s) { s.rec.fill(s.x.view(4, huge), 1U); });
  refuses(Errc::out_of_range, {"'x'"}, [&](Script& s) { s.rec.fill(s.x.view(huge, 4), 1U); });
  refuses(Errc::out_of_range, {"'y'"}, [&](Script& s) { s.rec.copy(s.x, s.y.view(huge, 256)); });
  refuses(Errc::out_of_range, {"'x'"}, [&](Script& s) { s.rec.fill(s.x.view(huge, 8).view(8, 4), 1U); });
}

// S11
TEST_F(ApiRecordError, PatternsOfOtherSizesAreRefused) {
  const Bytes bytes(64, std::byte{1});
  for (const size_t size : {0U, 3U, 5U, 6U, 7U, 12U, 15U, 17U, 32U}) {
    refuses(Errc::invalid_argument, {"pattern", std::to_string(size)},
            [&](Script& s) { s.rec.fill(s.x, Pattern::from_bytes(std::span(bytes).first(size))); });
  }
}

TEST_F(ApiRecordError, FillThatIsNoMultipleOfItsPatternIsMisaligned) {
  refuses(Errc::misaligned, {"6", "4"}, [](Script& s) { s.rec.fill(s.x.view(0, 6), 1U); });
  refuses(Errc::misaligned, {"12", "8"}, [](Script& s) { s.rec.fill(s.x.view(0, 12), uint64_t{1}); });
}

TEST_F(ApiRecordError, UpdateOfAnotherSizeIsAMismatch) {
  const Bytes bytes(12);
  refuses(Errc::mismatch, {"12", "16"}, [&](Script& s) { s.rec.update(s.x.view(0, 16), bytes); });
  refuses(Errc::out_of_range, {"update", "'x'"}, [&](Script& s) { s.rec.update(s.x.view(250, 12), bytes); });
}

TEST_F(ApiRecordError, CopyChecksSizesBoundsAndOverlap) {
  refuses(Errc::mismatch, {"16", "12"}, [](Script& s) { s.rec.copy(s.x.view(0, 16), s.y.view(0, 12)); });
  refuses(Errc::out_of_range, {"'y'"}, [](Script& s) { s.rec.copy(s.x.view(0, 16), s.y.view(241, 16)); });
  refuses(Errc::out_of_range, {"'x'"}, [](Script& s) { s.rec.copy(s.x.view(241, 16), s.y.view(0, 16)); });
  refuses(Errc::overlap, {"16", "15", "'x'"}, [](Script& s) { s.rec.copy(s.x.view(15, 16), s.x.view(0, 16)); });
  refuses(Errc::overlap, {"'x'"}, [](Script& s) { s.rec.copy(s.x.view(8, 4), s.x.view(8, 4)); });
}

TEST_F(ApiRecordError, ReferencesOfAnotherRecorderAreRefused) {
  Script other;
  refuses(Errc::invalid_argument, {"recorder"}, [&](Script& s) { s.rec.fill(other.x, 1U); });
  refuses(Errc::invalid_argument, {"recorder"}, [&](Script& s) { s.rec.fill(BufferRef{}, 1U); });
  refuses(Errc::invalid_argument, {"recorder"}, [&](Script& s) { s.rec.copy(s.x, other.y); });
  refuses(Errc::invalid_argument, {"recorder"}, [&](Script& s) { s.rec.barrier({s.x, other.x}); });
  refuses(Errc::invalid_argument, {"recorder"}, [&](Script& s) { s.rec.discard(other.x); });
  refuses(Errc::invalid_argument, {"recorder"}, [&](Script& s) { s.rec.signal_event(other.event); });
  refuses(Errc::invalid_argument, {"recorder"}, [&](Script& s) { s.rec.wait_event(other.event); });
  refuses(Errc::invalid_argument, {"recorder"}, [&](Script& s) { s.rec.reset_event(other.event); });
  refuses(Errc::invalid_argument, {"recorder"}, [&](Script& s) {
    s.rec.dispatch(kernel("iota"), {.groups = {other.four}, .constants = {1U, 2U}, .bindings = {s.x}});
  });
  refuses(Errc::invalid_argument, {"recorder"},
          [&](Script& s) { s.rec.dispatch(kernel("iota"), {.constants = {other.four, 2U}, .bindings = {s.x}}); });
  refuses(Errc::invalid_argument, {"channel"},
          [&](Script& s) { s.rec.collective({.channel = other.channel, .send = s.x, .receive = s.y, .count = 1}); });
}

TEST_F(ApiRecordError, ConstantsThatNoRecorderMadeAreRefused) {
  for (const ConstantRef& forged : {ConstantRef{}, ConstantRef{.size = 4}, ConstantRef{.size = 1U << 30}}) {
    refuses(Errc::invalid_argument, {"recorder"}, [&](Script& s) {
      s.rec.dispatch(kernel("iota"), {.groups = {forged}, .constants = {1U, 2U}, .bindings = {s.x}});
    });
  }
  for (const uint32_t size : {0U, 8U, 65540U}) {
    refuses(Errc::invalid_argument, {"recorder"}, [&](Script& s) {
      ConstantRef changed = s.four;
      changed.size = size;
      s.rec.dispatch(kernel("iota"), {.groups = {changed}, .constants = {1U, 2U}, .bindings = {s.x}});
    });
  }
  const ConstantRef right_size{.size = 4};
  refuses(Errc::invalid_argument, {"recorder"},
          [&](Script& s) { s.rec.dispatch(kernel("iota"), {.constants = {right_size, 2U}, .bindings = {s.x}}); });
  const ConstantRef too_large{.size = 1U << 30};
  refuses(Errc::mismatch, {"iota"},
          [&](Script& s) { s.rec.dispatch(kernel("iota"), {.constants = {too_large, 2U}, .bindings = {s.x}}); });
}

TEST_F(ApiRecordError, AConstantAfterAnErrorCanStillBeWrittenInADispatch) {
  // The first error counts; what follows it must only be harmless.
  for (const uint32_t size : {4U, 64U, 1000U, 1U << 30}) {
    refuses(Errc::out_of_range, {"'x'"}, [&](Script& s) {
      s.rec.fill(s.x.view(0, 4096), 1U);
      const ConstantRef late = s.rec.constant("late", size);
      s.rec.dispatch(kernel("iota"), {.groups = {late}, .constants = {late, 2U}, .bindings = {s.x}});
    });
  }
}

TEST_F(ApiRecordError, CollectivesOfNoDeclaredKindAreRefused) {
  const auto refused = [&](Collective collective) {
    refuses(Errc::invalid_argument, {"collective", "77"}, [&](Script& s) {
      collective.channel = s.channel;
      collective.send = s.x;
      collective.receive = s.y;
      s.rec.collective(collective);
    });
  };
  refused({.kind = static_cast<CollectiveKind>(77), .count = 1});
  refused({.count = 1, .type = static_cast<ElementType>(77)});
  refused({.count = 1, .op = static_cast<ReduceOp>(77)});
}

TEST_F(ApiRecordError, ConstantsAreAlignedTo4Or8) {
  for (const uint32_t alignment : {0U, 1U, 2U, 16U}) {
    refuses(Errc::invalid_argument, {"'wide'", std::to_string(alignment)},
            [&](Script& s) { s.rec.constant("wide", 8, alignment); });
  }
}

TEST_F(ApiRecordError, BarrierAndDiscardRangesAreChecked) {
  refuses(Errc::out_of_range, {"'y'"}, [](Script& s) { s.rec.barrier({s.x, s.y.view(200, 57)}); });
  refuses(Errc::out_of_range, {"discard", "'y'"}, [](Script& s) { s.rec.discard(s.y.view(200, 57)); });
}

TEST_F(ApiRecordError, EventsNeedAnEarlierSignal) {
  refuses(Errc::invalid_state, {"signal"}, [](Script& s) { s.rec.wait_event(s.event); });
  Script reset;
  reset.rec.signal_event(reset.event).reset_event(reset.event).wait_event(reset.event);
  EXPECT_TRUE(fails_with(reset.rec.finish(), Errc::invalid_state, {.parts = {"signal"}, .command = 4}));
}

TEST_F(ApiRecordError, DebugGroupsMustPair) {
  refuses(Errc::invalid_state, {"group"}, [](Script& s) { s.rec.end_debug_group(); });
  refuses_state(Errc::invalid_state, {"2", "open"},
                [](Script& s) { s.rec.begin_debug_group("a").begin_debug_group("b"); });
}

TEST_F(ApiRecordError, CollectiveChecksItsRanges) {
  refuses(Errc::out_of_range, {"65", "256"},
          [](Script& s) { s.rec.collective({.channel = s.channel, .send = s.x, .receive = s.y, .count = 65}); });
  refuses(Errc::out_of_range, {"256"}, [](Script& s) {
    s.rec.collective({.channel = s.channel, .send = s.x, .receive = s.y, .count = whole_size / 2});
  });
  refuses(Errc::out_of_range, {"'y'"}, [](Script& s) {
    s.rec.collective({.channel = s.channel, .send = s.x, .receive = s.y.view(255, 8), .count = 1});
  });
}

TEST_F(ApiRecordError, SlotsNeedNamesSizesAndAlignments) {
  refuses_state(Errc::invalid_argument, {"name"}, [](Script& s) { s.rec.buffer("", 4); });
  refuses_state(Errc::invalid_argument, {"'x'"}, [](Script& s) { s.rec.buffer("x", 4); });
  refuses_state(Errc::limit_exceeded, {"'z'"}, [](Script& s) { s.rec.buffer("z", whole_size); });
  for (const uint32_t alignment : {0U, 3U, 12U, 255U}) {
    refuses_state(Errc::invalid_argument, {"'z'", std::to_string(alignment)},
                  [&](Script& s) { s.rec.buffer("z", 4, {.alignment = alignment}); });
  }
}

TEST_F(ApiRecordError, NamedConstantsNeedNamesAndSizes) {
  refuses_state(Errc::invalid_argument, {"name"}, [](Script& s) { s.rec.constant("", 4); });
  refuses_state(Errc::invalid_argument, {"'four'"}, [](Script& s) { s.rec.constant("four", 4); });
  refuses_state(Errc::limit_exceeded, {"'z'", "1025", "1024"}, [](Script& s) { s.rec.constant("z", 1025); });
  refuses_state(Errc::limit_exceeded, {"'z'", "0"}, [](Script& s) { s.rec.constant("z", 0); });
}

TEST_F(ApiRecordError, DirectBuffersNeedMemoryThatHoldsTheView) {
  const Buffer memory = make_buffer(Bytes(64));
  refuses_state(Errc::invalid_argument, {"empty"}, [](Script& s) { s.rec.buffer(Buffer()); });
  refuses_state(Errc::out_of_range, {"64"}, [&](Script& s) { s.rec.buffer(memory.view(60, 5)); });
  refuses_state(Errc::out_of_range, {"64"}, [&](Script& s) { s.rec.buffer(memory.view(65)); });
  refuses_state(Errc::out_of_range, {"64"}, [&](Script& s) { s.rec.buffer(memory.view(8, whole_size - 4)); });
}

TEST_F(ApiRecordError, TheFirstErrorStays) {
  Script script;
  script.rec.fill(script.x.view(0, 6), 1U).copy(script.x, script.x).wait_event(script.event);
  EXPECT_TRUE(fails_with(script.rec.finish(), Errc::misaligned, {.command = 2}));
}

TEST_F(ApiRecordError, AFinishedRecorderIsUsedUp) {
  Script script;
  ASSERT_TRUE(succeeded(script.rec.finish()));
  EXPECT_TRUE(fails_with(script.rec.finish(), Errc::invalid_state));
  script.rec.fill(script.x, 1U).barrier();
  EXPECT_TRUE(fails_with(script.rec.finish(), Errc::invalid_state));
}

TEST_F(ApiRecordError, ARecorderThatWasMovedFromIsUsedUp) {
  Script script;
  Recorder taken = std::move(script.rec);
  // NOLINTBEGIN(bugprone-use-after-move): that is what is tested.
  script.rec.fill(script.x, 1U).barrier();
  EXPECT_EQ(script.rec.buffer("z", 64).recorder, 0U);
  EXPECT_TRUE(fails_with(script.rec.finish(), Errc::invalid_state, {.parts = {"moved from"}}));
  // NOLINTEND(bugprone-use-after-move)
  EXPECT_TRUE(succeeded(taken.finish()));
  script.rec = Recorder();
  EXPECT_TRUE(succeeded(script.rec.finish()));
}

}  // namespace
}  // namespace pianola::conformance
