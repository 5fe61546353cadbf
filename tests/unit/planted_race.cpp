// SPDX-License-Identifier: Apache-2.0
// A race on purpose: segments that nothing orders write the same bytes. Under the thread sanitizer this program must
// be reported; if it is not, the annotations of the worker threads hide too much.
#include <vector>

#include "backend/cpu/workers.hpp"

int main() {
  using namespace pianola::backend;
  constexpr uint32_t count = 400;
  constexpr uint32_t size = 1U << 16U;
  cpu::Program program;
  program.segments.resize(count + 1);
  for (uint32_t i = 0; i <= count; ++i) program.segments[i].first_task = i;
  for (uint32_t i = 0; i < count; ++i) {
    cpu::Task task;
    task.size = size;
    task.pattern.fill(static_cast<std::byte>(i));
    program.tasks.push_back(task);
  }
  std::vector<std::byte> bytes(size);
  Bindings bindings;
  bindings.slots.resize(1);
  bindings.slots[0].address = bytes.data();
  const pianola::DeviceLimits limits;
  cpu::Workers workers(2);
  const cpu::SegmentStatePtr state = cpu::make_segment_state(program);
  cpu::Replay replay(program, bindings, limits);
  workers.run(replay, *state);
  return 0;
}
