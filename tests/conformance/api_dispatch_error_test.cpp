// SPDX-License-Identifier: Apache-2.0
// Bad dispatches and nested command buffers: each error while recording, with code, text and index.
#include "fixture.hpp"

namespace pianola::conformance {
namespace {

class ApiDispatchError : public ApiTest {
 protected:
  Recorder rec;
  BufferRef x = rec.buffer("x", 256);
  BufferRef y = rec.buffer("y", 256);
  BufferRef small = rec.buffer("small", 4, {.alignment = 4});
  ConstantRef eight = rec.constant("eight", 8);

  /// The only command so far must have failed so.
  void expect_error(Errc code, const std::vector<std::string>& parts, uint32_t command = 0) {
    EXPECT_TRUE(fails_with(rec.finish(), code, {.parts = parts, .command = command}));
  }
};

TEST_F(ApiDispatchError, AMissingKernelIsNamed) {
  rec.dispatch(kernel("no_such_kernel"), {.bindings = {x}});
  expect_error(Errc::missing_kernel, {"no_such_kernel"});
}

TEST_F(ApiDispatchError, AnEmptyKernelIsMissing) {
  rec.dispatch(Kernel(), {.bindings = {x}});
  expect_error(Errc::missing_kernel, {});
}

TEST_F(ApiDispatchError, AnEntryThatTheLibraryLacksIsMissing) {
  rec.dispatch(Kernel(kernels(), 1000000, "guessed"), {.bindings = {x}});
  expect_error(Errc::missing_kernel, {"guessed"});
}

TEST_F(ApiDispatchError, TooFewBindingsAreAMismatch) {
  rec.barrier().dispatch(kernel("copy_elements"), {.constants = {1U}, .bindings = {x}});
  expect_error(Errc::mismatch, {"copy_elements", "2", "1"}, 1);
}

TEST_F(ApiDispatchError, TooManyBindingsAreAMismatch) {
  rec.dispatch(kernel("copy_elements"), {.constants = {1U}, .bindings = {x, y, x}});
  expect_error(Errc::mismatch, {"copy_elements", "2", "3"});
}

// S10
TEST_F(ApiDispatchError, SixtyFiveBindingsAreOverTheLimit) {
  rec.dispatch(kernel("bindings_64"), {.constants = {1U}, .bindings = std::vector<BufferRef>(65, x)});
  expect_error(Errc::limit_exceeded, {"65", "64"});
}

// S9
TEST_F(ApiDispatchError, AMissingBindingIsNamedWithItsKernel) {
  rec.push_descriptor_set(0, {{0, x}}).push_constants(0, 4U).dispatch(kernel("hole_0_2"), {});
  expect_error(Errc::unbound, {"hole_0_2", "2", "'result'"});
}

TEST_F(ApiDispatchError, BindingsOfAnotherSetDoNotCount) {
  rec.push_descriptor_set(1, {{0, x}, {1, y}}).dispatch(kernel("copy_elements"), {.constants = {4U}});
  expect_error(Errc::unbound, {"copy_elements", "'source'"});
}

TEST_F(ApiDispatchError, ABindingPastItsSlotIsOutOfRange) {
  rec.dispatch(kernel("copy_elements"), {.constants = {4U}, .bindings = {x, y.view(128, 129)}});
  expect_error(Errc::out_of_range, {"copy_elements", "'y'", "129", "256"});
}

TEST_F(ApiDispatchError, PushedBindingsAreChecked) {
  rec.push_descriptor_set(0, {{0, x.view(250, 10)}});
  EXPECT_TRUE(fails_with(rec.finish(), Errc::out_of_range, {.parts = {"'x'", "10", "250"}}));
}

TEST_F(ApiDispatchError, DescriptorSetsHaveALimit) {
  rec.push_descriptor_set(max_descriptor_sets, {{0, x}});
  EXPECT_TRUE(fails_with(rec.finish(), Errc::limit_exceeded, {.parts = {"16"}}));
}

TEST_F(ApiDispatchError, AWrittenBindingMayNotOverlapAnother) {
  rec.dispatch(kernel("copy_elements"), {.constants = {4U}, .bindings = {x.view(0, 64), x.view(60, 64)}});
  expect_error(Errc::overlap, {"copy_elements", "'result'", "'source'", "'x'"});
}

TEST_F(ApiDispatchError, TouchingBindingsDoNotOverlap) {
  rec.dispatch(kernel("copy_elements"), {.constants = {4U}, .bindings = {x.view(0, 64), x.view(64, 64)}});
  rec.dispatch(kernel("combine"), {.constants = {1U, 4U}, .bindings = {x.view(0, 64), x.view(0, 64), y}});
  EXPECT_TRUE(succeeded(rec.finish()));
}

// S8
TEST_F(ApiDispatchError, ConstantsOfAnotherSizeAreAMismatch) {
  rec.dispatch(kernel("iota"), {.constants = {1U}, .bindings = {x}});
  expect_error(Errc::mismatch, {"iota", "8", "4"});
}

// S8
TEST_F(ApiDispatchError, OneByteOfConstantsTooManyIsRefused) {
  rec.dispatch(kernel("constants_1024"), {.constants = Constants::from_bytes(Bytes(1025)), .bindings = {x}});
  expect_error(Errc::limit_exceeded, {"1025", "1024"});
}

// S8
TEST_F(ApiDispatchError, ConstantsThatWereNeverPushedAreNamed) {
  rec.push_constants(0, 1U).dispatch(kernel("iota"), {.bindings = {x}});
  expect_error(Errc::unbound, {"iota", "4", "'n'"});
}

// S8
TEST_F(ApiDispatchError, PushedConstantsMustFit) {
  const auto refuses = [](uint32_t offset, size_t size, Errc code) {
    Recorder recorder;
    const Bytes bytes(size);
    recorder.push_constants(offset, std::span<const std::byte>(bytes));
    EXPECT_TRUE(fails_with(recorder.finish(), code, {.parts = {std::to_string(offset), std::to_string(size)}}));
  };
  refuses(1024, 4, Errc::limit_exceeded);
  refuses(1020, 8, Errc::limit_exceeded);
  refuses(0, 1028, Errc::limit_exceeded);
  refuses(UINT32_MAX - 3, 8, Errc::limit_exceeded);  // offset + size wraps
  refuses(2, 4, Errc::misaligned);
  refuses(4, 6, Errc::misaligned);
  Recorder fits;
  const Bytes bytes(1024);
  fits.push_constants(0, std::span<const std::byte>(bytes)).push_constants(1020, 1U);
  EXPECT_TRUE(succeeded(fits.finish()));
}

// S6
TEST_F(ApiDispatchError, GroupCountsOver32BitsAreRefused) {
  const uint64_t many = uint64_t{UINT32_MAX} + 1;
  rec.dispatch(kernel("mark_groups"), {.groups = {1, many, 1}, .constants = {1U}, .bindings = {x}});
  expect_error(Errc::limit_exceeded, {std::to_string(many)});
}

TEST_F(ApiDispatchError, NegativeGroupCountsAreRefused) {
  rec.dispatch(kernel("mark_groups"), {.groups = {-1}, .constants = {1U}, .bindings = {x}});
  expect_error(Errc::limit_exceeded, {std::to_string(UINT64_MAX)});
}

TEST_F(ApiDispatchError, NamedGroupCountsHaveFourBytes) {
  rec.dispatch(kernel("mark_groups"), {.groups = {eight}, .constants = {1U}, .bindings = {x}});
  expect_error(Errc::mismatch, {"8", "4"});
}

TEST_F(ApiDispatchError, IndirectCountsNeedTwelveAlignedBytes) {
  const Dispatch mark{.constants = {1U}, .bindings = {x}};
  rec.dispatch_indirect(kernel("mark_groups"), y.view(2, 12), mark);
  expect_error(Errc::misaligned, {"2", "4"});
  Recorder tight;
  const BufferRef counts = tight.buffer("counts", 11);
  const BufferRef marks = tight.buffer("marks", 64);
  tight.dispatch_indirect(kernel("mark_groups"), counts, {.constants = {1U}, .bindings = {marks}});
  EXPECT_TRUE(fails_with(tight.finish(), Errc::out_of_range, {.parts = {"12", "11"}, .command = 0}));
}

TEST_F(ApiDispatchError, IndirectCountsNeedASlotOfTheirAlignment) {
  const Dispatch mark{.constants = {1U}, .bindings = {x}};
  rec.dispatch_indirect(kernel("mark_groups"), rec.buffer("even", 16, {.alignment = 4}).view(4, 12), mark);
  rec.dispatch_indirect(kernel("mark_groups"), rec.buffer("odd", 16, {.alignment = 2}).view(4, 12), mark);
  expect_error(Errc::misaligned, {"'odd'", "of alignment 2", "multiple of 4"}, 1);
}

TEST_F(ApiDispatchError, IndirectCountsMayNotBeWrittenByTheirDispatch) {
  rec.dispatch_indirect(kernel("mark_groups"), x.view(16, 12), {.constants = {1U}, .bindings = {x}});
  expect_error(Errc::overlap, {"mark_groups", "counts"});
}

TEST_F(ApiDispatchError, UsesAreChecked) {
  rec.dispatch(kernel("iota"), {.constants = {1U, 1U}, .bindings = {x}, .uses = {{y.view(255, 2)}}});
  expect_error(Errc::out_of_range, {"'y'"});
}

class ApiExecuteError : public ApiTest {
 protected:
  ApiExecuteError() {
    Recorder rec;
    source = rec.buffer("source", 64);
    result = rec.buffer("result", 64);
    value = rec.constant("value", 4);
    rec.copy(result, source).barrier();
    rec.dispatch(kernel("add_constant"), {.constants = {value, 16U}, .bindings = {result}});
    inner = *rec.finish();
  }
  void refuses(Errc code, const std::vector<std::string>& parts, const ExecuteArguments& arguments) {
    outer.execute(inner, arguments);
    EXPECT_TRUE(fails_with(outer.finish(), code, {.parts = parts, .command = 0}));
  }
  BufferRef source, result;
  ConstantRef value;
  CommandBuffer inner;
  Recorder outer;
  BufferRef a = outer.buffer("a", 256);
  BufferRef b = outer.buffer("b", 256, {.alignment = 16});
  BufferRef c = outer.buffer("c", 256);
};

TEST_F(ApiExecuteError, AnInnerSlotWithoutARangeIsNamed) {
  refuses(Errc::unbound, {"'result'"}, {.bindings = {{source.slot, a}}, .constants = {{value.id, 1U}}});
}
TEST_F(ApiExecuteError, AnInnerConstantWithoutAValueIsNamed) {
  refuses(Errc::unbound, {"'value'"}, {.bindings = {{source.slot, a}, {result.slot, c}}});
}
TEST_F(ApiExecuteError, AnOuterRangeThatIsTooSmallIsRefused) {
  refuses(Errc::out_of_range, {"'source'", "64", "63"},
          {.bindings = {{source.slot, a.view(0, 63)}, {result.slot, a}}, .constants = {{value.id, 1U}}});
}
TEST_F(ApiExecuteError, AnOuterRangeMustBeAligned) {
  refuses(Errc::misaligned, {"'source'", "256"},
          {.bindings = {{source.slot, a.view(64, 64)}, {result.slot, a}}, .constants = {{value.id, 1U}}});
}
TEST_F(ApiExecuteError, AnOuterSlotMustPromiseTheAlignment) {
  refuses(Errc::misaligned, {"'result'", "'b'", "16"},
          {.bindings = {{source.slot, a}, {result.slot, b}}, .constants = {{value.id, 1U}}});
}
TEST_F(ApiExecuteError, WrittenSlotsMayNotShareMemory) {
  refuses(Errc::overlap, {"'source'", "'result'", "'a'"},
          {.bindings = {{source.slot, a}, {result.slot, a}}, .constants = {{value.id, 1U}}});
}
TEST_F(ApiExecuteError, UnknownSlotsAndConstantsAreRefused) {
  refuses(Errc::invalid_argument, {"9"}, {.bindings = {{SlotId{9}, a}}});
}
TEST_F(ApiExecuteError, ASlotOrConstantThatIsGivenTwiceIsRefused) {
  refuses(Errc::invalid_argument, {"'source'"},
          {.bindings = {{source.slot, a}, {result.slot, c}, {source.slot, a}}, .constants = {{value.id, 1U}}});
  outer = Recorder();
  a = outer.buffer("a", 256);
  c = outer.buffer("c", 256);
  refuses(Errc::invalid_argument, {"'value'", "twice"},
          {.bindings = {{source.slot, a}, {result.slot, c}}, .constants = {{value.id, 1U}, {value.id, 1U}}});
}
TEST_F(ApiExecuteError, AValueOfAnotherSizeIsAMismatch) {
  Recorder recorder;
  const BufferRef big = recorder.buffer("big", 1024);
  recorder.execute(inner, {.bindings = {{source.slot, big.view(0, 64)}, {result.slot, big.view(512)}},
                           .constants = {{value.id, uint64_t{1}}}});
  EXPECT_TRUE(fails_with(recorder.finish(), Errc::mismatch, {.parts = {"'value'", "4", "8"}, .command = 0}));
}
TEST_F(ApiExecuteError, AnEmptyHandleIsRefused) {
  outer.barrier().execute(CommandBuffer());
  EXPECT_TRUE(fails_with(outer.finish(), Errc::invalid_argument, {.command = 1}));
}

}  // namespace
}  // namespace pianola::conformance
