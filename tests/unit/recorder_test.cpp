// SPDX-License-Identifier: Apache-2.0
// What recording keeps and what it refuses, seen from inside.
#include "pianola/recorder.hpp"

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "pianola/graph.hpp"
#include "record/command_buffer_data.hpp"
#include "test_library.hpp"

namespace pianola {
namespace {

// A view's own bytes are an address: no pattern and no constant.
using Bytes = std::span<const std::byte>;
static_assert(!PlainValue<Bytes> && !PlainValue<std::string_view> && !PlainValue<const char*>);
static_assert(!PlainValue<std::vector<int>> && !PlainValue<std::initializer_list<int>>);
static_assert(PlainValue<float> && PlainValue<std::array<int, 2>> && PlainValue<int[2]> && PlainValue<SlotId>);
static_assert(!std::is_constructible_v<Pattern, Bytes> && !std::is_constructible_v<Constants::Value, Bytes>);
static_assert(!std::is_constructible_v<ConstantBinding, ConstantKey, std::span<const float>>);
static_assert(std::is_constructible_v<ConstantBinding, ConstantKey, Bytes>);

/// The code of the first error, or nothing if the recording is good.
std::optional<Errc> error_of(Recorder& recorder) {
  const auto result = recorder.finish();
  return result ? std::nullopt : std::optional(result.error().code);
}

std::vector<Op> ops_of(const CommandBuffer& commands) {
  std::vector<Op> ops;
  for (const CommandHeader& command : *commands.data()) ops.push_back(command.op);
  return ops;
}

TEST(RecorderConstants, ANamedConstantLiesWhereItsAlignmentPutsIt) {
  Recorder recorder;
  const ConstantRef plain = recorder.constant("plain", 8);
  const ConstantRef wide = recorder.constant("wide", 8, 8);
  const Constants constants = {1U, plain, 2U, wide};
  ASSERT_EQ(constants.named().size(), 2U);
  EXPECT_EQ(constants.named()[0].offset, 4U);
  EXPECT_EQ(constants.named()[1].offset, 16U);
  EXPECT_EQ(constants.bytes().size(), 24U);
}

TEST(Recorder, AFillTakesAtMost64BytesAndADispatch48And24ABinding) {
  const auto library = test_library({binary_kernel()});
  Recorder rec;
  const auto x = rec.buffer("x", 64);
  const auto y = rec.buffer("y", 64);
  rec.fill(x, uint32_t{1});
  auto fill_only = rec.finish();
  ASSERT_TRUE(fill_only);
  EXPECT_LE(fill_only->recorded_bytes(), 64U);

  Recorder other;
  const auto a = other.buffer("a", 64);
  const auto b = other.buffer("b", 64);
  other.dispatch(library["binary"], {.groups = {1}, .constants = {1, 2}, .bindings = {a, b}});
  auto dispatch_only = other.finish();
  ASSERT_TRUE(dispatch_only) << to_string(dispatch_only.error());
  EXPECT_LE(dispatch_only->recorded_bytes(), 48U + 2 * 24 + 8);
  (void)y;
}

TEST(Recorder, KeepsCommandsInTheOrderOfTheCalls) {
  Recorder rec;
  const auto x = rec.buffer("x", 64);
  const auto event = rec.event();
  rec.fill(x, uint8_t{1}).barrier().signal_event(event).copy(x.view(0, 8), x.view(8, 8)).wait_event(event).discard(x);
  const auto commands = rec.finish();
  ASSERT_TRUE(commands);
  EXPECT_EQ(ops_of(*commands),
            (std::vector<Op>{Op::fill, Op::barrier, Op::signal_event, Op::copy, Op::wait_event, Op::discard}));
  EXPECT_EQ(commands->command_count(), 6U);
}

TEST(Recorder, UpdateKeepsItsOwnBytes) {
  Recorder rec;
  const auto x = rec.buffer("x", 4);
  std::vector<uint8_t> source = {1, 2, 3, 4};
  rec.update(x, source);
  source.assign(4, 9);
  const auto commands = rec.finish();
  ASSERT_TRUE(commands);
  const auto& update = as<Update>(*commands->data()->begin());
  EXPECT_EQ(std::to_integer<int>(update.bytes()[2]), 3);
}

TEST(Recorder, TheFirstErrorStaysAndNamesItsCommand) {
  Recorder rec;
  const auto x = rec.buffer("x", 64);
  rec.fill(x, uint8_t{0}).barrier().fill(x.view(3, 5), uint32_t{0}).copy(x, x);
  for (int round = 0; round < 2; ++round) {
    const auto result = rec.finish();
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Errc::misaligned);
    EXPECT_EQ(result.error().command, 2U);
  }
}

TEST(Recorder, AFinishedRecorderTakesNothingMore) {
  Recorder rec;
  ASSERT_TRUE(rec.finish());
  rec.barrier();
  const auto again = rec.finish();
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Errc::invalid_state);
}

TEST(Recorder, RangesThatEndPastTheirSlotOrWrapAreRefused) {
  struct Case {
    uint64_t offset, size;
    bool good;
  };
  const std::vector<Case> cases = {{0, 64, true},
                                   {64, 0, true},
                                   {60, 4, true},
                                   {60, 8, false},
                                   {65, 0, false},
                                   {UINT64_MAX - 3, 8, false},
                                   {8, UINT64_MAX - 4, false},
                                   {8, UINT64_MAX - 7, false}};
  for (const auto& [offset, size, good] : cases) {
    Recorder rec;
    const auto x = rec.buffer("x", 64);
    rec.fill(x.view(offset, size), uint8_t{0});
    EXPECT_EQ(error_of(rec), good ? std::nullopt : std::optional(Errc::out_of_range)) << offset << ' ' << size;
  }
}

TEST(Recorder, AViewCannotGrowBackOverItsParent) {
  Recorder rec;
  const auto x = rec.buffer("x", 64);
  rec.fill(x.view(8, 8).view(0, 16), uint8_t{0});
  EXPECT_EQ(error_of(rec), Errc::out_of_range);
}

TEST(Recorder, ReferencesOfAnotherRecorderAreRefused) {
  Recorder one;
  Recorder two;
  const auto x = one.buffer("x", 64);
  const auto unused = two.buffer("x", 64);
  two.fill(x, uint8_t{0});
  EXPECT_EQ(error_of(two), Errc::invalid_argument);
  Recorder three;
  three.signal_event(one.event());
  EXPECT_EQ(error_of(three), Errc::invalid_argument);
  (void)unused;
}

TEST(Recorder, SlotNamesAreUniqueAndNotEmptyAndAlignmentsArePowersOfTwo) {
  Recorder twice;
  (void)twice.buffer("x", 4);
  (void)twice.buffer("x", 4);
  EXPECT_EQ(error_of(twice), Errc::invalid_argument);
  Recorder unnamed;
  (void)unnamed.buffer("", 4);
  EXPECT_EQ(error_of(unnamed), Errc::invalid_argument);
  for (const uint32_t alignment : {0U, 3U, 512U}) {
    Recorder rec;
    (void)rec.buffer("x", 4, {.alignment = alignment});
    EXPECT_EQ(error_of(rec), Errc::invalid_argument) << alignment;
  }
}

TEST(Recorder, PatternsOfOtherSizesAreRefused) {
  for (size_t size = 0; size <= 17; ++size) {
    Recorder rec;
    const auto x = rec.buffer("x", 240);
    const std::vector<std::byte> bytes(size);
    rec.fill(x, Pattern::from_bytes(bytes));
    const bool good = size == 1 || size == 2 || size == 4 || size == 8 || size == 16;
    EXPECT_EQ(error_of(rec), good ? std::nullopt : std::optional(Errc::invalid_argument)) << size;
  }
}

TEST(Recorder, CopiesOfUnequalSizeOrOverOneAnotherAreRefused) {
  Recorder unequal;
  const auto x = unequal.buffer("x", 64);
  unequal.copy(x.view(0, 8), x.view(16, 4));
  EXPECT_EQ(error_of(unequal), Errc::mismatch);
  Recorder over;
  const auto y = over.buffer("y", 64);
  over.copy(y.view(0, 8), y.view(7, 8));
  EXPECT_EQ(error_of(over), Errc::overlap);
  Recorder beside;
  const auto z = beside.buffer("z", 64);
  beside.copy(z.view(0, 8), z.view(8, 8)).copy(z.view(4, 0), z.view(4, 0));
  EXPECT_EQ(error_of(beside), std::nullopt);
}

TEST(Recorder, AWaitNeedsAnEarlierSignalThatWasNotReset) {
  Recorder early;
  early.wait_event(early.event());
  EXPECT_EQ(error_of(early), Errc::invalid_state);
  Recorder reset;
  const auto event = reset.event();
  reset.signal_event(event).reset_event(event).wait_event(event);
  EXPECT_EQ(error_of(reset), Errc::invalid_state);
  Recorder again;
  const auto twice = again.event();
  again.signal_event(twice).barrier().signal_event(twice).wait_event(twice);
  const auto commands = again.finish();
  ASSERT_TRUE(commands);
  auto at = commands->data()->begin();
  ++ ++ ++at;
  EXPECT_EQ(as<EventCommand>(*at).signal, 2U);
}

TEST(Recorder, DebugGroupsMustBalance) {
  Recorder open;
  open.begin_debug_group("a");
  EXPECT_EQ(error_of(open), Errc::invalid_state);
  Recorder closed;
  closed.end_debug_group();
  EXPECT_EQ(error_of(closed), Errc::invalid_state);
}

TEST(Recorder, PushedStatePersistsInPartsAndIsResolvedIntoEachDispatch) {
  const auto library = test_library({binary_kernel()});
  Recorder rec;
  const auto a = rec.buffer("a", 64);
  const auto b = rec.buffer("b", 64);
  rec.push_constants(0, std::array<uint32_t, 2>{7, 8}).push_descriptor_set(0, {{1, b}, {0, a}});
  rec.dispatch(library["binary"], {.groups = {3}});
  rec.push_constants(4, uint32_t{9}).push_descriptor_set(0, {{1, b.view(16)}});
  rec.dispatch(library["binary"], {.groups = {3}});
  const auto commands = rec.finish();
  ASSERT_TRUE(commands) << to_string(commands.error());
  auto at = commands->data()->begin();
  const auto& first = as<DispatchCommand>(*at);
  const auto& second = as<DispatchCommand>(*++at);
  uint32_t words[4];
  std::memcpy(words, first.constants().data(), 8);
  std::memcpy(words + 2, second.constants().data(), 8);
  EXPECT_EQ(words[1], 8U);
  EXPECT_EQ(words[2], 7U);
  EXPECT_EQ(words[3], 9U);
  EXPECT_EQ(first.bindings()[1].offset, 0U);
  EXPECT_EQ(second.bindings()[1].offset, 16U);
  EXPECT_EQ(second.bindings()[0].slot, a.slot);
}

TEST(Recorder, ADispatchWithoutAllItsArgumentsIsRefused) {
  const auto library = test_library({binary_kernel()});
  Recorder no_binding;
  const auto a = no_binding.buffer("a", 64);
  no_binding.push_descriptor_set(0, {{0, a}}).push_constants(0, uint64_t{0}).dispatch(library["binary"], {});
  const auto result = no_binding.finish();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Errc::unbound);
  EXPECT_NE(result.error().message.find("binary"), std::string::npos);
  EXPECT_NE(result.error().message.find("binding 1"), std::string::npos);

  Recorder no_constant;
  const auto b = no_constant.buffer("b", 64);
  no_constant.push_constants(0, uint32_t{0});
  no_constant.dispatch(library["binary"], {.bindings = {b.view(0, 8), b.view(8, 8)}});
  EXPECT_EQ(error_of(no_constant), Errc::unbound);

  Recorder too_few;
  const auto c = too_few.buffer("c", 64);
  too_few.dispatch(library["binary"], {.constants = {1, 2}, .bindings = {c}});
  EXPECT_EQ(error_of(too_few), Errc::mismatch);

  Recorder too_many_bytes;
  const auto d = too_many_bytes.buffer("d", 64);
  too_many_bytes.dispatch(library["binary"], {.constants = {1, 2, 3}, .bindings = {d.view(0, 8), d.view(8, 8)}});
  EXPECT_EQ(error_of(too_many_bytes), Errc::mismatch);

  Recorder missing;
  missing.dispatch(library["nothing"], {});
  EXPECT_EQ(error_of(missing), Errc::missing_kernel);
}

TEST(Recorder, AWrittenBindingMayOverlapOnlyWhereTheKernelSaysSo) {
  auto aliasing = binary_kernel();
  aliasing.name = "aliasing";
  aliasing.may_alias = true;
  const auto library = test_library({binary_kernel(), aliasing});
  for (const auto* name : {"binary", "aliasing"}) {
    Recorder rec;
    const auto x = rec.buffer("x", 64);
    rec.dispatch(library[name], {.constants = {1, 2}, .bindings = {x.view(0, 16), x.view(12, 16)}});
    EXPECT_EQ(error_of(rec), name == std::string("binary") ? std::optional(Errc::overlap) : std::nullopt);
  }
}

TEST(Recorder, IndirectCountsAreAlignedWholeAndNotWrittenByTheirDispatch) {
  const auto library = test_library({binary_kernel()});
  const auto record = [&](uint64_t offset, uint64_t size, uint64_t written) {
    Recorder rec;
    const auto counts = rec.buffer("counts", 64);
    const auto x = rec.buffer("x", 64);
    rec.dispatch_indirect(library["binary"], counts.view(offset, size),
                          {.constants = {1, 2}, .bindings = {x, counts.view(written, 8)}});
    return error_of(rec);
  };
  EXPECT_EQ(record(4, 12, 16), std::nullopt);
  EXPECT_EQ(record(2, 12, 16), Errc::misaligned);
  EXPECT_EQ(record(4, 8, 16), Errc::out_of_range);
  EXPECT_EQ(record(4, 12, 12), Errc::overlap);
}

TEST(Recorder, GroupCountsOver32BitsAreRefused) {
  const auto library = test_library({binary_kernel()});
  Recorder rec;
  const auto x = rec.buffer("x", 64);
  rec.dispatch(library["binary"],
               {.groups = {uint64_t{1} << 32}, .constants = {1, 2}, .bindings = {x.view(0, 8), x.view(8, 8)}});
  EXPECT_EQ(error_of(rec), Errc::limit_exceeded);
}

TEST(Recorder, ConstantsAreLaidOutAsAStructOfTheSameValues) {
  const Constants constants = {uint32_t{1}, uint64_t{2}, 3.0f};
  struct Same {
    uint32_t a;
    uint64_t b;
    float c;
  };
  ASSERT_EQ(constants.bytes().size(), offsetof(Same, c) + 4);
  uint64_t second = 0;
  std::memcpy(&second, constants.bytes().data() + offsetof(Same, b), 8);
  EXPECT_EQ(second, 2U);
}

TEST(Recorder, ExecuteMapsEverySlotAndConstantOrSaysWhichIsMissing) {
  Recorder inner_recorder;
  const auto x = inner_recorder.buffer("x", 64);
  const auto y = inner_recorder.buffer("y", 64, {.alignment = 16});
  const auto n = inner_recorder.constant("n", 4);
  inner_recorder.copy(x, y);
  const auto inner = inner_recorder.finish();
  ASSERT_TRUE(inner);
  const auto run = [&](std::vector<ExecuteArguments::SlotMap> slots, bool with_constant) {
    Recorder rec;
    const auto big = rec.buffer("big", 1024);
    for (auto& slot : slots) slot.outer = big.view(slot.outer.offset, slot.outer.size);
    ExecuteArguments arguments{.bindings = slots};
    if (with_constant) arguments.constants.push_back({n.id, uint32_t{5}});
    rec.execute(*inner, arguments);
    return error_of(rec);
  };
  const auto at = [](uint64_t offset, uint64_t size) { return BufferRef{.offset = offset, .size = size}; };
  EXPECT_EQ(run({{x.slot, at(0, 64)}, {y.slot, at(64, 64)}}, true), std::nullopt);
  EXPECT_EQ(run({{x.slot, at(0, 64)}}, true), Errc::unbound);
  EXPECT_EQ(run({{x.slot, at(0, 64)}, {y.slot, at(64, 64)}}, false), Errc::unbound);
  EXPECT_EQ(run({{x.slot, at(0, 60)}, {y.slot, at(64, 64)}}, true), Errc::out_of_range);
  EXPECT_EQ(run({{x.slot, at(16, 64)}, {y.slot, at(128, 64)}}, true), Errc::misaligned);
  EXPECT_EQ(run({{x.slot, at(0, 64)}, {y.slot, at(48, 64)}}, true), Errc::overlap);
  EXPECT_EQ(run({{x.slot, at(0, 64)}, {x.slot, at(64, 64)}}, true), Errc::invalid_argument);
}

TEST(Recorder, PrintsOneLineACommand) {
  Recorder rec;
  const auto x = rec.buffer("x", 64);
  rec.fill(x, uint16_t{0x0201}).barrier({x.view(0, 4)}).copy(x.view(0, 4), x.view(8, 4));
  const auto commands = rec.finish();
  ASSERT_TRUE(commands);
  EXPECT_EQ(commands->to_string(),
            "   0  fill x[0, 64) with 0102\n   1  barrier on x[0, 4)\n   2  copy x[0, 4) from x[8, 12)\n");
}

}  // namespace
}  // namespace pianola
