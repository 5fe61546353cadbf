// SPDX-License-Identifier: Apache-2.0
#include "backend/host_queue.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "base/guarded.hpp"

namespace pianola::backend {

struct HostQueue::State {
  Run run;
  IsSmall is_small;
  const void* device = nullptr;  ///< whose promises count as met waits
  std::mutex mutex;
  std::condition_variable wake;  ///< the queue's thread: there is a job, or the end
  std::condition_variable idle;  ///< the destructor
  std::deque<Job> jobs;
  bool busy = false;               ///< a job is being run, by whichever thread
  std::atomic<bool> waits{false};  ///< the job may still have to wait for others
  bool stop = false;
  std::thread thread;

  void run_one(Job& job) noexcept;
  void leave_job();
  void start_thread(const std::shared_ptr<State>& self);
};

namespace {

bool are_ready(const Job& job, const void* device) {
  return std::all_of(job.wait.begin(), job.wait.end(), [device](const SemaphoreValue& wait) {
    return wait.semaphore.state()->is_ready(wait.value, device);
  });
}

/// One within the other.
thread_local int finishing_here = 0;

/// Open when every wait is met, or one has failed.
struct Gate {
  std::mutex mutex;
  std::condition_variable wake;
  size_t missing = 0;
  std::optional<Error> error;
};

/// Returns at the first failure, even while other waits may stay unmet for ever.
std::optional<Error> wait_for_all(const Job& job, const void* device) {
  const auto gate = std::make_shared<Gate>();
  gate->missing = job.wait.size();
  for (const SemaphoreValue& wait : job.wait) {
    wait.semaphore.state()->when_ready(wait.value, device, [gate](const std::optional<Error>& failure) {
      const std::lock_guard lock(gate->mutex);
      --gate->missing;
      if (failure && !gate->error) gate->error = copy_of(*failure);
      gate->wake.notify_all();
    });
  }
  std::unique_lock lock(gate->mutex);
  gate->wake.wait(lock, [&] { return gate->missing == 0 || gate->error.has_value(); });
  return gate->error;
}

}  // namespace

bool is_finishing_here() noexcept {
  return finishing_here != 0;
}

void finish(Job& job, std::optional<Error> error) noexcept {
  ++finishing_here;
  job.executable.reset();
  job.bindings.reset();
  job.keep_alive.reset();
  job.wait.clear();
  for (const SemaphoreValue& signal : job.signal) {
    if (error) {
      signal.semaphore.state()->fail(*error);
      continue;
    }
    Result<> result = guarded([&] { return signal.semaphore.state()->signal(signal.value); });
    if (!result) error = std::move(result.error());
  }
  job.signal.clear();
  const std::shared_ptr<Submission::State> done = std::move(job.done);
  done->complete(std::move(error));
  --finishing_here;
}

void HostQueue::State::run_one(Job& job) noexcept {
  std::optional<Error> error;
  try {
    if (!job.wait.empty()) error = wait_for_all(job, device);
  } catch (...) {
    error = out_of_memory();
  }
  waits = false;
  try {
    error = run(job, std::move(error));
  } catch (...) {
    error = out_of_memory();
  }
  if (job.done) finish(job, std::move(error));
}

void HostQueue::State::leave_job() {
  busy = false;
  if (jobs.empty()) {
    idle.notify_all();
  } else {
    wake.notify_one();
  }
}

void HostQueue::State::start_thread(const std::shared_ptr<State>& self) {
  if (!thread.joinable()) thread = std::thread([self] { work(self); });
}

HostQueue::HostQueue(Run run, IsSmall is_small, const void* device) : state_(std::make_shared<State>()) {
  state_->run = std::move(run);
  state_->is_small = std::move(is_small);
  state_->device = device;
}

HostQueue::~HostQueue() {
  std::unique_lock lock(state_->mutex);
  const bool has_jobs = state_->waits || !state_->jobs.empty();
  const bool ends_by_itself = has_jobs || is_finishing_here();
  if (!ends_by_itself) state_->idle.wait(lock, [this] { return !state_->busy && state_->jobs.empty(); });
  state_->stop = true;
  state_->wake.notify_one();
  lock.unlock();
  if (!state_->thread.joinable()) return;
  if (ends_by_itself) {
    state_->thread.detach();
  } else {
    state_->thread.join();
  }
}

void HostQueue::submit(Job&& job) noexcept {
  const bool runs_here = state_->is_small(job) && are_ready(job, state_->device);
  try {
    const std::lock_guard lock(state_->mutex);
    if (!runs_here || state_->busy || !state_->jobs.empty()) {
      state_->start_thread(state_);
      state_->jobs.push_back(std::move(job));
      if (!state_->busy) state_->wake.notify_one();
      return;
    }
    state_->busy = true;
  } catch (...) {
    finish(job, out_of_memory());
    return;
  }
  state_->run_one(job);
  leave();
}

bool HostQueue::enter() noexcept {
  const std::lock_guard lock(state_->mutex);
  if (state_->busy || !state_->jobs.empty()) return false;
  state_->busy = true;
  return true;
}

void HostQueue::leave() noexcept {
  const std::lock_guard lock(state_->mutex);
  state_->leave_job();
}

void HostQueue::work(const std::shared_ptr<State>& state) {
  std::unique_lock lock(state->mutex);
  for (;;) {
    state->wake.wait(lock, [&] { return !state->busy && (state->stop || !state->jobs.empty()); });
    if (state->jobs.empty()) return;
    Job job = std::move(state->jobs.front());
    state->jobs.pop_front();
    state->busy = true;
    state->waits = !job.wait.empty();
    lock.unlock();
    state->run_one(job);
    lock.lock();
    state->leave_job();
  }
}

}  // namespace pianola::backend
