// SPDX-License-Identifier: Apache-2.0
// Zero work does nothing, fails nothing, and keeps order.
#include "list_case.hpp"

namespace pianola::conformance {
namespace {

class Zero : public ListTest {};

// S4
TEST_F(Zero, EmptyCommandBufferRuns) {
  ListCase list;
  list.buffer("x", counting(4));
  list.run();
}

// S4
TEST_F(Zero, EmptyRangesDoNothing) {
  ListCase list;
  const BufferRef x = list.buffer("x", pattern_bytes(64, 1));
  const BufferRef y = list.buffer("y", pattern_bytes(64, 2));
  for (const uint64_t at : {0U, 1U, 63U, 64U}) {
    list.record.fill(x.view(at, 0), 7U).copy(x.view(at, 0), y.view(64 - at, 0)).update(x.view(at, 0), Bytes());
    list.record.discard(x.view(at, 0)).barrier({x.view(at, 0)});
  }
  list.run();
}

// S4: each dimension, and all of them
TEST_F(Zero, EmptyGridsRunNothing) {
  const std::vector<Groups> grids = {{0, 1, 1}, {1, 0, 1}, {1, 1, 0}, {0, 0, 0}, {0, 65535, 65535}};
  ListCase list;
  const BufferRef x = list.buffer("x", counting(64));
  for (const Groups& groups : grids) {
    list.record.dispatch(kernel("mark_groups"), {.groups = groups, .constants = {5U}, .bindings = {x}});
  }
  list.run();
}

// S4
TEST_F(Zero, EmptyGridsFromNamedConstantsRunNothing) {
  ListCase list;
  const BufferRef x = list.buffer("x", counting(64));
  const ConstantRef zero = list.constant("zero", uint32_t{0});
  const ConstantRef two = list.constant("two", uint32_t{2});
  const Kernel mark = kernel("mark_groups");
  list.record.dispatch(mark, {.groups = {zero, two, two}, .constants = {5U}, .bindings = {x}}).barrier();
  list.record.dispatch(mark, {.groups = {two, zero, 1}, .constants = {5U}, .bindings = {x}}).barrier();
  list.record.dispatch(mark, {.groups = {two, two, zero}, .constants = {5U}, .bindings = {x}}).barrier();
  list.run();
}

// S4
TEST_F(Zero, EmptyGridsFromABufferRunNothing) {
  const std::vector<std::vector<uint32_t>> grids = {{0, 1, 1}, {1, 0, 1}, {1, 1, 0}, {0, 0, 0}, {0, 9, 65535}};
  for (const auto& groups : grids) {
    ListCase list;
    const BufferRef x = list.buffer("x", counting(64));
    const BufferRef counts = list.buffer("counts", groups);
    list.record.dispatch_indirect(kernel("mark_groups"), counts, {.constants = {5U}, .bindings = {x}});
    list.limit_launches(3);
    list.run();
  }
}

// O6
TEST_F(Zero, ADispatchWithoutWorkAtSubmitKeepsTheOrderThroughIt) {
  ListCase list;
  const BufferRef x = list.buffer("x", counting(16, 2));
  const BufferRef y = list.buffer("y", repeated(0, 16));
  const BufferRef z = list.buffer("z", repeated(0, 16));
  const ConstantRef none = list.constant("none", uint32_t{0});
  list.record.dispatch(kernel("slow_copy"), {.constants = {2000U, 16U}, .bindings = {x, y}}).barrier();
  list.record.dispatch(kernel("iota"), {.groups = {none}, .constants = {9U, 16U}, .bindings = {y}});
  list.record.barrier().copy(z, y);
  list.expect(y, counting(16, 2));
  list.expect(z, counting(16, 2));
  list.run();
}

TEST_F(Zero, EmptyNestedCommandBufferDoesNothing) {
  ListCase list;
  const BufferRef x = list.buffer("x", counting(16));
  const BufferRef y = list.buffer("y", repeated(0, 16));
  Recorder inner;
  const CommandBuffer empty = must_finish(inner);
  list.record.execute(empty).fill(x, 3U).execute(empty).barrier().execute(empty).copy(y, x);
  list.expect(x, repeated(3, 16));
  list.expect(y, repeated(3, 16));
  list.run();
}

}  // namespace
}  // namespace pianola::conformance
