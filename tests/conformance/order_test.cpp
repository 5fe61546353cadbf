// SPDX-License-Identifier: Apache-2.0
// What barriers order: every kind of conflict, wherever barriers stand.
#include "list_case.hpp"

namespace pianola::conformance {
namespace {

class Order : public ListTest {};

// O1
TEST_F(Order, DoubledBarrierKeepsEarlierOrder) {
  ListCase list;
  const BufferRef x = list.buffer("x", counting(16, 5));
  const BufferRef y = list.buffer("y", repeated(0, 16));
  const BufferRef z = list.buffer("z", repeated(0, 16));
  list.record.dispatch(kernel("slow_copy"), slow_copy(x, y)).barrier().barrier().copy(z, y);
  list.expect(y, counting(16, 5));
  list.expect(z, counting(16, 5));
  list.run();
}

// O1
TEST_F(Order, LeadingTripledAndTrailingBarriersKeepOrder) {
  ListCase list;
  const BufferRef x = list.buffer("x", counting(16, 9));
  const BufferRef y = list.buffer("y", repeated(0, 16));
  list.record.barrier().barrier().fill(x, 3U).barrier().barrier().barrier();
  list.record.dispatch(kernel("slow_copy"), slow_copy(x, y)).barrier().fill(x, 4U).barrier().barrier();
  list.expect(x, repeated(4, 16));
  list.expect(y, repeated(3, 16));
  list.run();
}

// O1
TEST_F(Order, OnlyBarriersDoNothing) {
  for (int count = 0; count < 4; ++count) {
    ListCase list;
    list.buffer("x", counting(4));
    for (int i = 0; i < count; ++i) list.record.barrier();
    list.run();
  }
}

struct Piece {
  uint64_t offset;
  uint64_t size;
};

/// Two ranges of 64 bytes: equal, part, one byte, straddling, touching.
const std::vector<std::pair<Piece, Piece>> overlaps = {
    {{0, 64}, {0, 64}}, {{0, 64}, {16, 16}}, {{16, 16}, {0, 64}}, {{0, 33}, {32, 32}},
    {{31, 1}, {31, 1}}, {{0, 32}, {31, 1}},  {{8, 40}, {40, 24}}, {{0, 32}, {32, 32}},
};

// O3
TEST_F(Order, ReadAfterWriteSeesTheWrite) {
  for (const auto& [written, read] : overlaps) {
    ListCase list;
    const Bytes before = pattern_bytes(64, 1);
    const BufferRef x = list.buffer("x", before);
    const BufferRef y = list.buffer("y", Bytes(64));
    list.record.fill(x.view(written.offset, written.size), uint8_t{0xA5}).barrier();
    list.record.copy(y.view(0, read.size), x.view(read.offset, read.size));
    Bytes after = before;
    std::fill_n(after.begin() + static_cast<std::ptrdiff_t>(written.offset), written.size, std::byte{0xA5});
    list.expect(x, after);
    Bytes copied(64);
    std::copy_n(after.begin() + static_cast<std::ptrdiff_t>(read.offset), read.size, copied.begin());
    list.expect(y, copied);
    list.run();
  }
}

// O3
TEST_F(Order, WriteAfterReadDoesNotDisturbTheRead) {
  for (const auto& [read, written] : overlaps) {
    ListCase list;
    const Bytes before = pattern_bytes(64, 2);
    const BufferRef x = list.buffer("x", before);
    const BufferRef y = list.buffer("y", Bytes(64));
    list.record.copy(y.view(0, read.size), x.view(read.offset, read.size)).barrier();
    list.record.fill(x.view(written.offset, written.size), uint8_t{0x5A});
    Bytes copied(64);
    std::copy_n(before.begin() + static_cast<std::ptrdiff_t>(read.offset), read.size, copied.begin());
    list.expect(y, copied);
    Bytes after = before;
    std::fill_n(after.begin() + static_cast<std::ptrdiff_t>(written.offset), written.size, std::byte{0x5A});
    list.expect(x, after);
    list.run();
  }
}

// O3
TEST_F(Order, SecondOfTwoWritesStays) {
  for (const auto& [first, second] : overlaps) {
    ListCase list;
    Bytes bytes = pattern_bytes(64, 3);
    const BufferRef x = list.buffer("x", bytes);
    list.record.fill(x.view(first.offset, first.size), uint8_t{1}).barrier();
    list.record.fill(x.view(second.offset, second.size), uint8_t{2});
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(first.offset), first.size, std::byte{1});
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(second.offset), second.size, std::byte{2});
    list.expect(x, bytes);
    list.run();
  }
}

// O3
TEST_F(Order, KernelsAreOrderedForEveryKindOfConflict) {
  ListCase list;
  const BufferRef x = list.buffer("x", counting(256));
  const BufferRef y = list.buffer("y", repeated(0, 256));
  const Kernel multiply_add = kernel("multiply_add");
  std::vector<uint32_t> wanted = counting(256);
  for (uint32_t step = 1; step <= 20; ++step) {
    list.record.dispatch(multiply_add, {.groups = {4}, .constants = {step, 7U, 256U}, .bindings = {x}}).barrier();
    for (uint32_t& value : wanted) value = value * step + 7;
  }
  list.record.dispatch(kernel("slow_copy"), slow_copy(x, y)).barrier().fill(x, 1U);
  list.expect(x, repeated(1, 256));
  list.expect(y, wanted);
  list.run();
}

// O12
TEST_F(Order, UnrelatedFillBeforeTheBarrierDoesNotHideTheDispatch) {
  ListCase list;
  const BufferRef x = list.buffer("x", counting(64, 1));
  const BufferRef y = list.buffer("y", repeated(0, 64));
  const BufferRef other = list.buffer("other", repeated(0, 64));
  const BufferRef z = list.buffer("z", repeated(0, 64));
  list.record.dispatch(kernel("slow_copy"), slow_copy(x, y)).fill(other, 9U).barrier();
  list.record.dispatch(kernel("copy_elements"), {.constants = {64U}, .bindings = {y, z}});
  list.expect(y, counting(64, 1));
  list.expect(other, repeated(9, 64));
  list.expect(z, counting(64, 1));
  list.run();
}

TEST_F(Order, NarrowedBarrierOrdersConflictsOnItsRanges) {
  ListCase list;
  const BufferRef x = list.buffer("x", counting(32, 1));
  const BufferRef y = list.buffer("y", repeated(0, 32));
  const BufferRef z = list.buffer("z", repeated(0, 32));
  list.record.dispatch(kernel("slow_copy"), slow_copy(x, y)).barrier({y}).copy(z, y).barrier({y.view(64)});
  list.record.fill(y.view(64), 8U);
  std::vector<uint32_t> half = counting(32, 1);
  std::fill(half.begin() + 16, half.end(), 8U);
  list.expect(y, half);
  list.expect(z, counting(32, 1));
  list.run();
}

TEST_F(Order, NarrowedBarrierOfSeveralRangesOrdersEach) {
  ListCase list;
  const BufferRef x = list.buffer("x", counting(16, 3));
  const BufferRef a = list.buffer("a", repeated(0, 16));
  const BufferRef b = list.buffer("b", repeated(0, 16));
  const BufferRef c = list.buffer("c", repeated(0, 16));
  list.record.dispatch(kernel("slow_copy"), slow_copy(x, a)).dispatch(kernel("slow_copy"), slow_copy(x, b));
  list.record.barrier({b.view(0, 32), a, b.view(32)});
  list.record.dispatch(kernel("combine"), {.constants = {10U, 16U}, .bindings = {a, b, c}});
  list.expect(a, counting(16, 3));
  list.expect(b, counting(16, 3));
  list.expect(c, counting(16, 33, 11));
  list.run();
}

TEST_F(Order, OpaqueKernelIsOrderedAgainstEverything) {
  ListCase list;
  const BufferRef x = list.buffer("x", counting(64));
  const BufferRef y = list.buffer("y", counting(64, 50));
  const Dispatch add_x{.constants = {5U, 64U}, .bindings = {x}};
  list.record.fill(x, 2U).barrier().dispatch(kernel("opaque_add"), add_x).barrier();
  list.record.copy(y, x).barrier().dispatch(kernel("opaque_add"), {.constants = {1U, 64U}, .bindings = {y}});
  list.expect(x, repeated(7, 64));
  list.expect(y, repeated(8, 64));
  list.run();
}

TEST_F(Order, AliasingKernelMayReadAndWriteTheSameRange) {
  ListCase list;
  const BufferRef x = list.buffer("x", counting(64));
  const Kernel add = kernel("aliasing_add");
  list.record.dispatch(add, {.constants = {3U, 64U}, .bindings = {x, x}}).barrier();
  list.record.dispatch(add, {.constants = {4U, 64U}, .bindings = {x, x}});
  list.expect(x, counting(64, 7));
  list.run();
}

}  // namespace
}  // namespace pianola::conformance
