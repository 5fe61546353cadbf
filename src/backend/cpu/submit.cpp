// SPDX-License-Identifier: Apache-2.0
// Replays: by one thread where the work is small or one chain, else by the workers.
#include <fmt/format.h>

#include <chrono>

#include "backend/cpu/device.hpp"

namespace pianola::backend::cpu {
namespace {

/// Handing work to another thread costs some tens of microseconds.
constexpr double small_us = 100;
/// A replay that a thread has done in less is small, if the estimate agrees.
constexpr double small_when_run_us = 2 * small_us;
/// Of replays with unknown counts by several threads, so many are done before one thread is tried again.
constexpr uint32_t replays_between_tries = 256;

using std::chrono::steady_clock;

double us_since(steady_clock::time_point start) {
  return std::chrono::duration<double, std::micro>(steady_clock::now() - start).count();
}

}  // namespace

bool CpuExecutable::is_small() const {
  const double taken = us_here_.load(std::memory_order_relaxed);
  // The estimate says nothing of unknown counts, but the last replay does.
  if (program_.has_unknown_counts) return taken != 0 && taken < small_when_run_us;
  return program_.estimated_us < small_us && taken < small_when_run_us;
}

std::optional<Error> CpuExecutable::run(const Bindings& bindings) {
  Replay replay(program_, bindings, limits_);
  SegmentStatePtr state;
  if (workers_ != nullptr && program_.is_parallel && !is_small()) state = take_state();
  if (state) {
    run_by_workers(replay, *state);
    give_back(std::move(state));
  } else {
    run_here(replay);
  }
  return replay.take_error();
}

/// What several threads take says little of what one would, since handing over takes longer than many a replay. So one
/// thread is tried now and then where that costs little.
void CpuExecutable::run_by_workers(Replay& replay, SegmentState& state) {
  if (!program_.has_unknown_counts) return workers_->run(replay, state);
  const auto start = steady_clock::now();
  workers_->run(replay, state);
  const double taken = us_since(start);
  if (taken >= small_when_run_us) return;
  if (by_workers_.fetch_add(1, std::memory_order_relaxed) % replays_between_tries != 0) return;
  us_here_.store(taken, std::memory_order_relaxed);
}

void CpuExecutable::run_small(const Bindings& bindings) noexcept {
  Replay replay(program_, bindings, limits_);
  run_here(replay);
}

/// Estimates know nothing of what a kernel does, so the time of kernels is taken, until one replay was fast enough:
/// reading the clock twice takes as long as the rest of a small one. Where counts differ from replay to replay the last
/// time counts.
void CpuExecutable::run_here(Replay& replay) {
  const double before = us_here_.load(std::memory_order_relaxed);
  const bool is_known_small = before != 0 && before < small_when_run_us && !program_.has_unknown_counts;
  if (!program_.has_dispatches || is_known_small) {
    replay.run(program_.tasks, 0);
    return;
  }
  const auto start = steady_clock::now();
  replay.run(program_.tasks, 0);
  const double taken = us_since(start);
  if (before == 0 || taken < before || program_.has_unknown_counts) us_here_.store(taken, std::memory_order_relaxed);
}

SegmentStatePtr CpuExecutable::take_state() {
  {
    const std::lock_guard lock(mutex_);
    if (!states_.empty()) {
      SegmentStatePtr state = std::move(states_.back());
      states_.pop_back();
      return state;
    }
  }
  try {
    return make_segment_state(program_);
  } catch (const std::bad_alloc&) {
    return nullptr;  // one thread does it without
  }
}

void CpuExecutable::give_back(SegmentStatePtr state) {
  try {
    const std::lock_guard lock(mutex_);
    states_.push_back(std::move(state));
  } catch (const std::bad_alloc&) {
    return;
  }
}

std::string CpuExecutable::describe() const {
  return fmt::format("cpu: {} tasks in {} segments, {} edges, about {:.1f} us by one thread, {}\n",
                     program_.tasks.size(), program_.segment_count(), program_.successors.size(), program_.estimated_us,
                     program_.is_parallel ? "parallel" : "one chain");
}

CpuQueue::CpuQueue()
    : jobs_(
          [](Job& job, std::optional<Error> failed) {
            return failed ? std::move(failed) : static_cast<CpuExecutable&>(*job.executable).run(*job.bindings);
          },
          [](const Job& job) { return static_cast<const CpuExecutable&>(*job.executable).is_small(); }) {}

bool CpuQueue::run_now(Executable& executable, const Bindings& bindings) noexcept {
  auto& replayed = static_cast<CpuExecutable&>(executable);
  if (!replayed.is_small() || replayed.can_fail() || !jobs_.enter()) return false;
  replayed.run_small(bindings);
  jobs_.leave();
  return true;
}

}  // namespace pianola::backend::cpu
