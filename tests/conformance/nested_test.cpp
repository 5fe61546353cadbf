// SPDX-License-Identifier: Apache-2.0
// Nested command buffers: their commands stand where they are executed.
#include "list_case.hpp"

namespace pianola::conformance {
namespace {

class Nested : public ListTest {};

/// result = source + value, once for each of 64 elements.
CommandBuffer add_into(uint32_t value) {
  Recorder rec;
  const BufferRef source = rec.buffer("source", 256);
  const BufferRef result = rec.buffer("result", 256);
  rec.dispatch(kernel("slow_copy"), {.constants = {2000U, 64U}, .bindings = {source, result}}).barrier();
  rec.dispatch(kernel("add_constant"), {.constants = {value, 64U}, .bindings = {result}});
  return must_finish(rec);
}

ExecuteArguments with(const CommandBuffer& inner, const BufferRef& source, const BufferRef& result) {
  return {.bindings = {{*inner.find_slot("source"), source}, {*inner.find_slot("result"), result}}};
}

TEST_F(Nested, InnerCommandsRunOnOuterRanges) {
  ListCase list;
  const BufferRef x = list.buffer("x", counting(192));
  const BufferRef y = list.buffer("y", repeated(0, 128));
  const CommandBuffer inner = add_into(10);
  list.record.execute(inner, with(inner, x.view(256, 256), y.view(256, 256)));
  std::vector<uint32_t> wanted = repeated(0, 128);
  for (uint32_t i = 0; i < 64; ++i) wanted[64 + i] = 64 + i + 10;
  list.expect(y, wanted);
  list.run();
}

TEST_F(Nested, OneCommandBufferMayStandInSeveralPlaces) {
  ListCase list;
  const BufferRef x = list.buffer("x", counting(64));
  const BufferRef y = list.buffer("y", repeated(0, 64));
  const BufferRef z = list.buffer("z", repeated(0, 64));
  const CommandBuffer inner = add_into(5);
  list.record.execute(inner, with(inner, x, y)).barrier().execute(inner, with(inner, y, z));
  list.record.barrier().execute(inner, with(inner, z, x));
  list.expect(x, counting(64, 15));
  list.expect(y, counting(64, 5));
  list.expect(z, counting(64, 10));
  list.run();
}

TEST_F(Nested, InnerBarriersOrderOuterCommands) {
  ListCase list;
  const BufferRef x = list.buffer("x", counting(64));
  const BufferRef y = list.buffer("y", repeated(0, 64));
  const BufferRef z = list.buffer("z", repeated(0, 64));
  Recorder rec;
  rec.barrier();
  const CommandBuffer only_a_barrier = must_finish(rec);
  list.record.dispatch(kernel("slow_copy"), {.constants = {2000U, 64U}, .bindings = {x, y}});
  list.record.execute(only_a_barrier).copy(z, y);
  list.expect(y, counting(64));
  list.expect(z, counting(64));
  list.run();
}

TEST_F(Nested, PushStateIsIsolatedBothWays) {
  ListCase list;
  const BufferRef x = list.buffer("x", counting(64));
  const BufferRef y = list.buffer("y", counting(64));
  const Kernel add = kernel("add_constant");
  Recorder rec;
  const BufferRef own = rec.buffer("own", 256);
  rec.push_constants(0, std::array<uint32_t, 2>{1000, 64}).push_descriptor_set(0, {{0, own}}).dispatch(add, {});
  const CommandBuffer inner = must_finish(rec);
  list.record.push_constants(0, std::array<uint32_t, 2>{7, 64}).push_descriptor_set(0, {{0, x}});
  list.record.execute(inner, {.bindings = {{*inner.find_slot("own"), y}}}).dispatch(add, {});
  list.expect(x, counting(64, 7));
  list.expect(y, counting(64, 1000));
  list.run();
}

TEST_F(Nested, InnerConstantsTakeValuesAndOuterConstants) {
  ListCase list;
  const BufferRef x = list.buffer("x", counting(64));
  const BufferRef y = list.buffer("y", counting(64));
  const ConstantRef outer = list.constant("outer", uint32_t{30});
  Recorder rec;
  const BufferRef data = rec.buffer("data", 256);
  const ConstantRef value = rec.constant("value", 4);
  const ConstantRef groups = rec.constant("groups", 4);
  rec.dispatch(kernel("add_constant"), {.groups = {groups}, .constants = {value, 64U}, .bindings = {data}});
  const CommandBuffer inner = must_finish(rec);
  const auto arguments = [&](const BufferRef& range, Constants::Value v) {
    return ExecuteArguments{.bindings = {{data.slot, range}}, .constants = {{value.id, v}, {groups.id, 1U}}};
  };
  list.record.execute(inner, arguments(x, 4U)).execute(inner, arguments(y, outer));
  list.expect(x, counting(64, 4));
  list.expect(y, counting(64, 30));
  list.run();
}

TEST_F(Nested, EventsAreLocalToTheirCommandBuffer) {
  ListCase list;
  const BufferRef x = list.buffer("x", counting(64));
  const BufferRef y = list.buffer("y", repeated(0, 64));
  const BufferRef z = list.buffer("z", repeated(0, 64));
  Recorder rec;
  const BufferRef source = rec.buffer("source", 256);
  const BufferRef result = rec.buffer("result", 256);
  const EventRef event = rec.event();
  rec.signal_event(event).wait_event(event).copy(result, source);
  const CommandBuffer inner = must_finish(rec);
  const EventRef outer = list.record.event();
  list.record.dispatch(kernel("slow_copy"), {.constants = {2000U, 64U}, .bindings = {x, y}}).signal_event(outer);
  list.record.execute(inner, with(inner, y, z)).wait_event(outer);
  list.expect(y, counting(64));
  list.expect(z, counting(64));
  list.run();
}

TEST_F(Nested, NestingGoesSeveralLevelsDeep) {
  ListCase list;
  const BufferRef x = list.buffer("x", counting(64));
  const BufferRef y = list.buffer("y", repeated(0, 64));
  CommandBuffer inner = add_into(1);
  for (int level = 0; level < 5; ++level) {
    Recorder rec;
    const BufferRef source = rec.buffer("source", 256);
    const BufferRef result = rec.buffer("result", 256);
    rec.execute(inner, with(inner, source, result)).barrier();
    rec.dispatch(kernel("add_constant"), {.constants = {1U, 64U}, .bindings = {result}});
    inner = must_finish(rec);
  }
  list.record.execute(inner, with(inner, x, y));
  list.expect(y, counting(64, 6));
  list.run();
}

TEST_F(Nested, IndirectDispatchesAndUpdatesWorkInside) {
  ListCase list;
  const BufferRef counts = list.buffer("counts", std::vector<uint32_t>(128, 0));
  const BufferRef marks = list.buffer("marks", repeated(0, 64));
  Recorder rec;
  const BufferRef inner_counts = rec.buffer("counts", 12);
  const BufferRef inner_marks = rec.buffer("marks", 256);
  rec.update(inner_counts, std::vector<uint32_t>{5, 2, 1}).barrier();
  rec.dispatch_indirect(kernel("mark_groups"), inner_counts, {.constants = {3U}, .bindings = {inner_marks}});
  const CommandBuffer inner = must_finish(rec);
  list.record.execute(inner, {.bindings = {{inner_counts.slot, counts.view(256)}, {inner_marks.slot, marks}}});
  std::vector<uint32_t> wanted = repeated(0, 128);
  wanted[64] = 5;
  wanted[65] = 2;
  wanted[66] = 1;
  list.expect(counts, wanted);
  std::vector<uint32_t> marked = repeated(0, 64);
  std::fill_n(marked.begin(), 10, 3U);
  list.expect(marks, marked);
  list.run();
}

TEST_F(Nested, DirectBuffersInsideKeepTheirMemory) {
  const Buffer own = make_buffer(counting(64));
  ListCase list;
  const BufferRef y = list.buffer("y", repeated(0, 64));
  Recorder rec;
  const BufferRef source = rec.buffer(own);
  const BufferRef result = rec.buffer("result", 256);
  rec.copy(result, source);
  const CommandBuffer inner = must_finish(rec);
  list.record.execute(inner, {.bindings = {{result.slot, y}}});
  list.expect(y, counting(64));
  list.run();
}

}  // namespace
}  // namespace pianola::conformance
