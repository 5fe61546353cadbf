// SPDX-License-Identifier: Apache-2.0
// Indirect dispatch: counts are a tracked read, wherever they lie and whoever wrote them.
#include "list_case.hpp"

namespace pianola::conformance {
namespace {

class Indirect : public ListTest {};

TEST_F(Indirect, CountsFromTheHostGiveTheGrid) {
  const uint32_t grids[][3] = {{1, 1, 1}, {7, 1, 1}, {2, 3, 4}, {30, 2, 1}};
  for (const auto& [x, y, z] : grids) {
    ListCase list;
    const BufferRef marks = list.buffer("marks", repeated(0, 64));
    const BufferRef counts = list.buffer("counts", std::vector<uint32_t>{x, y, z});
    list.record.dispatch_indirect(kernel("mark_groups"), counts, {.constants = {3U}, .bindings = {marks}});
    std::vector<uint32_t> wanted = repeated(0, 64);
    std::fill_n(wanted.begin(), x * y * z, 3U);
    list.expect(marks, wanted);
    list.limit_launches(5);
    list.run();
  }
}

TEST_F(Indirect, CountsAreReadAtTheirOffset) {
  ListCase list;
  const BufferRef counts = list.buffer("counts", std::vector<uint32_t>{9, 1, 1, 2, 1, 5, 1, 1, 1});
  const BufferRef marks = list.buffer("marks", repeated(0, 128));
  std::vector<uint32_t> wanted = repeated(0, 128);
  for (uint32_t i = 0; i < 3; ++i) {
    const Dispatch mark{.constants = {i + 1}, .bindings = {marks.view(128 * i, 128)}};
    list.record.dispatch_indirect(kernel("mark_groups"), counts.view(12 * i, 12), mark);
  }
  std::fill_n(wanted.begin(), 9, 1U);
  std::fill_n(wanted.begin() + 32, 10, 2U);
  std::fill_n(wanted.begin() + 64, 1, 3U);
  list.expect(marks, wanted);
  list.run();
}

// O7
TEST_F(Indirect, CountsWrittenByAKernelAreSeen) {
  ListCase list;
  const BufferRef counts = list.buffer("counts", std::vector<uint32_t>{1, 1, 1, 99});
  const BufferRef marks = list.buffer("marks", repeated(0, 64));
  const BufferRef wide = list.buffer("wide", repeated(0, 64));
  const Kernel write = kernel("write_counts");
  list.record.dispatch(write, {.constants = {5U, 2U, 3U}, .bindings = {counts.view(0, 12)}}).barrier();
  list.record.dispatch_indirect(kernel("mark_groups"), counts, {.constants = {4U}, .bindings = {marks}});
  list.record.barrier();
  list.record.dispatch(write, {.constants = {60U, 1U, 1U}, .bindings = {counts.view(0, 12)}}).barrier();
  list.record.dispatch_indirect(kernel("mark_groups"), counts, {.constants = {6U}, .bindings = {wide}});
  std::vector<uint32_t> wanted = repeated(0, 64);
  std::fill_n(wanted.begin(), 30, 4U);
  list.expect(marks, wanted);
  std::fill_n(wanted.begin(), 60, 6U);
  list.expect(wide, wanted);
  list.expect(counts, std::vector<uint32_t>{60, 1, 1, 99});
  list.run();
}

// O7
TEST_F(Indirect, CountsMayBeOverwrittenAfterwards) {
  ListCase list;
  const BufferRef counts = list.buffer("counts", std::vector<uint32_t>{1, 1, 1});
  const BufferRef marks = list.buffer("marks", repeated(0, 64));
  const std::vector<uint32_t> large = {40, 1, 1};
  list.record.update(counts, large).barrier();
  list.record.dispatch_indirect(kernel("mark_groups"), counts, {.constants = {1U}, .bindings = {marks}});
  list.record.barrier().fill(counts, 2U);
  std::vector<uint32_t> wanted = repeated(0, 64);
  std::fill_n(wanted.begin(), 40, 1U);
  list.expect(marks, wanted);
  list.expect(counts, repeated(2, 3));
  list.run();
}

// O7: counts by copy, and the work ordered after it
TEST_F(Indirect, WorkAfterAnIndirectDispatchSeesItsResult) {
  ListCase list;
  const BufferRef source = list.buffer("source", std::vector<uint32_t>{4, 4, 2});
  const BufferRef counts = list.buffer("counts", std::vector<uint32_t>{0, 0, 0});
  const BufferRef marks = list.buffer("marks", counting(32));
  const BufferRef copy = list.buffer("copy", repeated(0, 32));
  list.record.copy(counts, source).barrier();
  list.record.dispatch_indirect(kernel("mark_groups"), counts, {.constants = {100U}, .bindings = {marks}});
  list.record.barrier({marks}).copy(copy, marks);
  list.expect(counts, std::vector<uint32_t>{4, 4, 2});
  list.expect(marks, counting(32, 100));
  list.expect(copy, counting(32, 100));
  list.run();
}

TEST_F(Indirect, ManyInARowRunInOrder) {
  ListCase list;
  const BufferRef counts = list.buffer("counts", std::vector<uint32_t>{1, 1, 1});
  const BufferRef x = list.buffer("x", counting(64));
  std::vector<uint32_t> wanted = counting(64);
  for (uint32_t i = 1; i <= 12; ++i) {
    const Dispatch step{.constants = {i, i + 5, 64U}, .bindings = {x}};
    list.record.dispatch_indirect(kernel("multiply_add"), counts, step).barrier();
    for (uint32_t& value : wanted) value = value * i + i + 5;
  }
  list.expect(x, wanted);
  list.run();
}

TEST_F(Indirect, ReplaysReadTheCountsAfresh) {
  ListCase list;
  const BufferRef counts = list.buffer("counts", std::vector<uint32_t>{3, 1, 1});
  const BufferRef marks = list.buffer("marks", repeated(0, 16));
  list.record.dispatch_indirect(kernel("mark_groups"), counts, {.constants = {1U}, .bindings = {marks}});
  list.record.barrier().dispatch(kernel("write_counts"), {.constants = {9U, 1U, 1U}, .bindings = {counts}});
  std::vector<uint32_t> wanted = repeated(0, 16);
  std::fill_n(wanted.begin(), 3, 1U);
  list.expect(marks, wanted);
  list.expect(counts, std::vector<uint32_t>{9, 1, 1});
  list.run();
}

}  // namespace
}  // namespace pianola::conformance
