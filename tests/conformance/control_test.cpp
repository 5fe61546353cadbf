// SPDX-License-Identifier: Apache-2.0
// Events, discard and debug groups.
#include "list_case.hpp"

namespace pianola::conformance {
namespace {

class Control : public ListTest {};

TEST_F(Control, WaitOrdersWhatCameBeforeTheSignal) {
  ListCase list;
  const BufferRef x = list.buffer("x", counting(16, 1));
  const BufferRef y = list.buffer("y", repeated(0, 16));
  const BufferRef z = list.buffer("z", repeated(0, 16));
  const BufferRef other = list.buffer("other", repeated(0, 16));
  const EventRef event = list.record.event();
  list.record.dispatch(kernel("slow_copy"), slow_copy(x, y)).signal_event(event);
  list.record.fill(other, 5U).wait_event(event).copy(z, y);
  list.expect(y, counting(16, 1));
  list.expect(z, counting(16, 1));
  list.expect(other, repeated(5, 16));
  list.run();
}

TEST_F(Control, WaitIsForTheLatestSignal) {
  ListCase list;
  const BufferRef x = list.buffer("x", counting(16, 1));
  const BufferRef y = list.buffer("y", repeated(0, 16));
  const BufferRef z = list.buffer("z", repeated(0, 16));
  const EventRef event = list.record.event();
  list.record.signal_event(event).dispatch(kernel("slow_copy"), slow_copy(x, y)).signal_event(event);
  list.record.wait_event(event).copy(z, y);
  list.expect(y, counting(16, 1));
  list.expect(z, counting(16, 1));
  list.run();
}

TEST_F(Control, OneSignalMayHaveSeveralWaits) {
  ListCase list;
  const BufferRef x = list.buffer("x", counting(16, 1));
  const BufferRef y = list.buffer("y", repeated(0, 16));
  const BufferRef z = list.buffer("z", repeated(0, 16));
  const BufferRef w = list.buffer("w", repeated(0, 16));
  const EventRef event = list.record.event();
  list.record.dispatch(kernel("slow_copy"), slow_copy(x, y)).signal_event(event);
  list.record.wait_event(event).copy(z, y).wait_event(event).copy(w, y);
  list.expect(y, counting(16, 1));
  list.expect(z, counting(16, 1));
  list.expect(w, counting(16, 1));
  list.run();
}

TEST_F(Control, AResetEventMayBeSignalledAgain) {
  ListCase list;
  const BufferRef x = list.buffer("x", counting(16, 1));
  const BufferRef y = list.buffer("y", repeated(0, 16));
  const BufferRef z = list.buffer("z", repeated(0, 16));
  const EventRef event = list.record.event();
  list.record.signal_event(event).wait_event(event).reset_event(event);
  list.record.dispatch(kernel("slow_copy"), slow_copy(x, y)).signal_event(event).wait_event(event).copy(z, y);
  list.record.reset_event(event);
  list.expect(y, counting(16, 1));
  list.expect(z, counting(16, 1));
  list.run();
}

// O8: the second replay must not find the first one's signals
TEST_F(Control, EveryReplayOrdersAfresh) {
  ListCase list;
  const BufferRef x = list.buffer("x", counting(64, 1));
  std::vector<BufferRef> stages = {x};
  for (int i = 0; i < 6; ++i) {
    stages.push_back(list.buffer("stage" + std::to_string(i), repeated(0, 64)));
    list.expect(stages.back(), counting(64, 1));
  }
  const EventRef events[2] = {list.record.event(), list.record.event()};
  for (size_t i = 0; i < 6; ++i) {
    if (i > 0) list.record.wait_event(events[(i - 1) % 2]);
    list.record.dispatch(kernel("slow_copy"), slow_copy(stages[i], stages[i + 1])).signal_event(events[i % 2]);
  }
  list.run();
}

TEST_F(Control, DiscardIsOrderedAsAWrite) {
  ListCase list;
  const BufferRef x = list.buffer("x", counting(16, 1));
  const BufferRef y = list.buffer("y", repeated(0, 16));
  const BufferRef z = list.buffer("z", repeated(0, 16));
  list.record.dispatch(kernel("slow_copy"), slow_copy(x, y)).barrier().copy(z, y).barrier();
  list.record.discard(y).barrier().fill(y, 6U);
  list.expect(y, repeated(6, 16));
  list.expect(z, counting(16, 1));
  list.run();
}

TEST_F(Control, DiscardLeavesNeighboursAlone) {
  ListCase list;
  const BufferRef x = list.buffer("x", counting(16, 1));
  list.record.discard(x.view(16, 32)).barrier().fill(x.view(16, 32), 9U);
  std::vector<uint32_t> wanted = counting(16, 1);
  std::fill_n(wanted.begin() + 4, 8, 9U);
  list.expect(x, wanted);
  list.run();
}

TEST_F(Control, DebugGroupsChangeNothing) {
  ListCase list;
  const BufferRef x = list.buffer("x", counting(16, 1));
  const BufferRef y = list.buffer("y", repeated(0, 16));
  list.record.begin_debug_group("outer", 0xFF0000FFU).begin_debug_group("").fill(x, 1U).end_debug_group();
  list.record.barrier().begin_debug_group(std::string(300, 'n')).fill(x.view(0, 16), 2U);
  list.record.end_debug_group().end_debug_group().begin_debug_group("empty").end_debug_group().barrier().copy(y, x);
  std::vector<uint32_t> wanted = repeated(1, 16);
  std::fill_n(wanted.begin(), 4, 2U);
  list.expect(x, wanted);
  list.expect(y, wanted);
  list.run();
}

}  // namespace
}  // namespace pianola::conformance
