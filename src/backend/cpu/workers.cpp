// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/workers.hpp"

#include <oneapi/tbb/info.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <algorithm>
#include <atomic>
#include <vector>

// The thread sanitizer does not see what happens inside oneTBB's own library. What is handed over is a pointer in a
// functor it does not look at, and the order that oneTBB guarantees is told to it here.
#if defined(__SANITIZE_THREAD__)
#define PIANOLA_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PIANOLA_THREAD_SANITIZER 1
#endif
#endif
#ifdef PIANOLA_THREAD_SANITIZER
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#define PIANOLA_UNSEEN __attribute__((no_sanitize("thread")))
#else
#define PIANOLA_UNSEEN
#endif

namespace pianola::backend::cpu {
namespace {

void acquire([[maybe_unused]] void* address) {
#ifdef PIANOLA_THREAD_SANITIZER
  __tsan_acquire(address);
#endif
}

void release([[maybe_unused]] void* address) {
#ifdef PIANOLA_THREAD_SANITIZER
  __tsan_release(address);
#endif
}

}  // namespace

/// One segment in flight.
struct SegmentInFlight {
  std::atomic<uint32_t> missing{0};  ///< segments it still waits for
  uint32_t index = 0;
  SegmentState* state = nullptr;
};

class SegmentState {
 public:
  explicit SegmentState(const Program& program)
      : count_(program.segment_count()),
        segments_(std::make_unique<SegmentInFlight[]>(count_)),
        shares_(program.share_count) {
    for (uint32_t i = 0; i < count_; ++i) {
      segments_[i].index = i;
      segments_[i].state = this;
    }
  }

  /// Starts every segment that waits for none; returns when all are done.
  void run(Replay& replay);
  /// Does the segment, then those it makes ready: one here, the others wherever there is a thread.
  void follow(uint32_t segment);

 private:
  void start(uint32_t segment);

  size_t count_;
  std::unique_ptr<SegmentInFlight[]> segments_;
  std::vector<std::atomic<uint32_t>> shares_;  ///< chunks taken, for each part of the tasks that are cut
  Replay* replay_ = nullptr;
  tbb::task_group* group_ = nullptr;
};

namespace {

/// What oneTBB gets to copy and call.
struct Step {
  SegmentInFlight* segment;
  PIANOLA_UNSEEN void operator()() const {
    acquire(segment);
    segment->state->follow(segment->index);
    release(segment->state);
  }
};

/// A whole replay; another thread does it where the arena has no place left for the calling one.
struct Enter {
  Replay* replay;
  SegmentState* state;
  PIANOLA_UNSEEN void operator()() const {
    acquire(state);
    state->run(*replay);
    release(state);
  }
};

}  // namespace

void SegmentState::start(uint32_t segment) {
  release(&segments_[segment]);
  try {
    group_->run(Step{&segments_[segment]});
  } catch (...) {
    follow(segment);  // no memory for a task: do it here
  }
}

void SegmentState::follow(uint32_t segment) {
  constexpr uint32_t none = UINT32_MAX;
  const Program& program = replay_->program();
  const auto worker = static_cast<uint32_t>(std::max(0, tbb::this_task_arena::current_thread_index()));
  while (segment != none) {
    replay_->run(program.tasks_of(segment), worker);
    uint32_t next = none;
    for (const uint32_t later : program.successors_of(segment)) {
      if (segments_[later].missing.fetch_sub(1, std::memory_order_acq_rel) != 1) continue;
      if (next == none) {
        next = later;
      } else {
        start(later);
      }
    }
    segment = next;
  }
}

void SegmentState::run(Replay& replay) {
  tbb::task_group group;
  replay_ = &replay;
  group_ = &group;
  const Program& program = replay.program();
  for (std::atomic<uint32_t>& taken : shares_) taken.store(0, std::memory_order_relaxed);
  replay.set_shares(shares_.data());
  for (uint32_t i = 0; i < count_; ++i) {
    segments_[i].missing.store(program.segments[i].waits_for, std::memory_order_relaxed);
  }
  for (uint32_t i = 0; i < count_; ++i) {
    if (program.segments[i].waits_for == 0) start(i);
  }
  group.wait();
  acquire(this);
}

void DeleteSegmentState::operator()(SegmentState* state) const {
  delete state;
}

SegmentStatePtr make_segment_state(const Program& program) {
  return SegmentStatePtr(new SegmentState(program));
}

struct Workers::Arena {
  /// oneTBB has no more threads than the machine has cores, and complains when asked for more.
  explicit Arena(uint32_t threads) : arena(std::min(static_cast<int>(threads), tbb::info::default_concurrency())) {}
  tbb::task_arena arena;
};

Workers::Workers(uint32_t threads) : arena_(std::make_unique<Arena>(threads)) {}
Workers::~Workers() = default;

void Workers::run(Replay& replay, SegmentState& state) {
  release(&state);
  arena_->arena.execute(Enter{&replay, &state});
  acquire(&state);
}

}  // namespace pianola::backend::cpu
