// SPDX-License-Identifier: Apache-2.0
// One queue's order, its waits, and what happens to jobs whose waits fail.
#include "backend/host_queue.hpp"

#include <atomic>
#include <thread>
#include <vector>

namespace pianola::backend {
namespace {

using std::chrono::seconds;

struct Pending {
  std::shared_ptr<Submission::State> state = std::make_shared<Submission::State>();
  Result<> wait() const { return state->wait(seconds(20)); }
};

Semaphore semaphore(uint64_t initial = 0) {
  return *Semaphore::create(initial);
}

/// A queue whose jobs append the number they carry, as the address of their bindings' only slot.
class HostQueueThreads : public ::testing::Test {
 protected:
  HostQueue make(bool small) {
    return HostQueue([this](Job& job, std::optional<Error> failed) { return failed ? std::move(failed) : run(job); },
                     [small](const Job&) { return small; });
  }
  std::optional<Error> run(const Job& job) {
    const auto number = job.bindings->slots[0].size;
    order.push_back(number);
    threads.push_back(std::this_thread::get_id());
    if (number >= 1000) return Error{.code = Errc::execution_failed, .message = "as asked"};
    return std::nullopt;
  }
  static Job job(uint64_t number, const Pending& pending) {
    auto bindings = std::make_shared<Bindings>();
    bindings->slots.resize(1);
    bindings->slots[0].size = number;
    Job result;
    result.bindings = std::move(bindings);
    result.done = pending.state;
    return result;
  }
  std::vector<uint64_t> order;
  std::vector<std::thread::id> threads;
};

TEST_F(HostQueueThreads, SmallJobRunsOnTheSubmittingThread) {
  HostQueue queue = make(true);
  const Pending done;
  queue.submit(job(1, done));
  EXPECT_TRUE(done.state->done);
  EXPECT_EQ(threads.at(0), std::this_thread::get_id());
}

TEST_F(HostQueueThreads, LargeJobRunsOnTheQueuesThread) {
  HostQueue queue = make(false);
  const Pending done;
  queue.submit(job(1, done));
  ASSERT_TRUE(done.wait());
  EXPECT_NE(threads.at(0), std::this_thread::get_id());
}

TEST_F(HostQueueThreads, WaitMayComeBeforeItsSignalIsSubmitted) {
  HostQueue first = make(true);
  HostQueue second = make(true);
  const Semaphore ready = semaphore();
  const Pending waits;
  const Pending signals;
  Job late = job(2, waits);
  late.wait = {{ready, 7}};
  first.submit(std::move(late));
  EXPECT_FALSE(waits.state->done);
  Job early = job(1, signals);
  early.signal = {{ready, 7}};
  second.submit(std::move(early));
  ASSERT_TRUE(waits.wait());
  EXPECT_EQ(order, (std::vector<uint64_t>{1, 2}));
}

TEST_F(HostQueueThreads, LaterJobsStayBehindOneThatWaits) {
  const Semaphore ready = semaphore();
  HostQueue queue = make(true);
  std::vector<Pending> pending(20);
  for (uint64_t i = 0; i < pending.size(); ++i) {
    Job next = job(i, pending[i]);
    if (i == 0) next.wait = {{ready, 1}};
    queue.submit(std::move(next));
  }
  EXPECT_FALSE(pending.back().state->done);
  ASSERT_TRUE(ready.signal(1));
  ASSERT_TRUE(pending.back().wait());
  ASSERT_EQ(order.size(), 20U);
  for (uint64_t i = 0; i < order.size(); ++i) EXPECT_EQ(order[i], i);
}

TEST_F(HostQueueThreads, FailedJobFailsItsSemaphoresAndTheirWaiters) {
  const Semaphore broken = semaphore();
  const Semaphore after = semaphore();
  HostQueue first = make(true);
  HostQueue second = make(true);
  const Pending fails;
  const Pending waits;
  Job dependant = job(1, waits);
  dependant.wait = {{broken, 1}};
  dependant.signal = {{after, 1}};
  first.submit(std::move(dependant));
  Job failing = job(1000, fails);
  failing.signal = {{broken, 1}};
  second.submit(std::move(failing));
  EXPECT_EQ(fails.wait().error().code, Errc::execution_failed);
  EXPECT_EQ(waits.wait().error().code, Errc::dependency_failed);
  EXPECT_EQ(after.wait_for(1, seconds(20)).error().code, Errc::dependency_failed);
  EXPECT_EQ(order, (std::vector<uint64_t>{1000}));
}

TEST_F(HostQueueThreads, OneFailedWaitIsEnough) {
  const Semaphore never = semaphore();
  const Semaphore broken = semaphore();
  HostQueue queue = make(true);
  const Pending waits;
  Job dependant = job(1, waits);
  dependant.wait = {{never, 1}, {broken, 1}};
  queue.submit(std::move(dependant));
  broken.state()->fail(Error{.code = Errc::execution_failed, .message = "as asked"});
  EXPECT_EQ(waits.wait().error().code, Errc::dependency_failed);
  EXPECT_TRUE(order.empty());
}

TEST_F(HostQueueThreads, SignalNotAboveTheValueFailsTheJobThatMakesIt) {
  const Semaphore at_five = semaphore(5);
  HostQueue queue = make(true);
  const Pending done;
  Job late = job(1, done);
  late.signal = {{at_five, 5}};
  queue.submit(std::move(late));
  EXPECT_EQ(done.wait().error().code, Errc::invalid_argument);
}

TEST_F(HostQueueThreads, KeptObjectsAreReleasedBeforeTheJobCompletes) {
  HostQueue queue = make(false);
  const Pending done;
  auto kept = std::make_shared<int>(1);
  const std::weak_ptr<int> watch = kept;
  Job next = job(1, done);
  next.keep_alive = std::move(kept);
  queue.submit(std::move(next));
  ASSERT_TRUE(done.wait());
  EXPECT_TRUE(watch.expired());
}

TEST_F(HostQueueThreads, DestructorWaitsForNoJobAndThoseTakenRunAllTheSame) {
  const Pending done, behind;
  const Semaphore ready = semaphore();
  {
    HostQueue queue = make(true);
    Job next = job(1, done);
    next.wait = {{ready, 1}};
    queue.submit(std::move(next));
    queue.submit(job(2, behind));
  }
  EXPECT_FALSE(done.state->done || behind.state->done);
  ASSERT_TRUE(ready.signal(1));
  EXPECT_TRUE(behind.wait());
  EXPECT_TRUE(done.state->done);
}

TEST_F(HostQueueThreads, JobMayDropTheLastHandleOfItsOwnQueue) {
  const Pending done;
  const Semaphore ready = semaphore();
  auto queue = std::make_shared<HostQueue>([](Job&, std::optional<Error>) { return std::nullopt; },
                                           [](const Job&) { return true; });
  Job next = job(1, done);
  next.wait = {{ready, 1}};
  next.keep_alive = queue;
  queue->submit(std::move(next));
  queue.reset();
  ASSERT_TRUE(ready.signal(1));
  EXPECT_TRUE(done.wait());
}

TEST_F(HostQueueThreads, EnteringIsRefusedWhileAJobStandsBefore) {
  const Semaphore ready = semaphore();
  HostQueue queue = make(true);
  const Pending waits;
  Job late = job(1, waits);
  late.wait = {{ready, 1}};
  queue.submit(std::move(late));
  EXPECT_FALSE(queue.enter());
  ASSERT_TRUE(ready.signal(1));
  ASSERT_TRUE(waits.wait());
  while (!queue.enter()) std::this_thread::yield();  // the job is done a little before its place is free
  queue.leave();
}

TEST_F(HostQueueThreads, JobsWaitForWhoeverEntered) {
  HostQueue queue = make(true);
  const Pending done;
  ASSERT_TRUE(queue.enter());
  EXPECT_FALSE(queue.enter());
  std::thread submits([&] { queue.submit(job(2, done)); });
  submits.join();
  EXPECT_FALSE(done.state->done);
  order.push_back(1);
  queue.leave();
  ASSERT_TRUE(done.wait());
  EXPECT_EQ(order, (std::vector<uint64_t>{1, 2}));
}

TEST_F(HostQueueThreads, ManySubmittersEachSeeTheirJobsComplete) {
  std::atomic<int> ran{0};
  std::atomic<int> inside{0};
  HostQueue queue(
      [&](Job&, std::optional<Error>) -> std::optional<Error> {
        EXPECT_EQ(inside.fetch_add(1), 0);
        ++ran;
        inside.fetch_sub(1);
        return std::nullopt;
      },
      [](const Job& next) { return next.bindings->slots[0].size % 2 == 0; });
  std::vector<std::thread> submitters;
  for (int t = 0; t < 4; ++t) {
    submitters.emplace_back([&] {
      for (uint64_t i = 0; i < 200; ++i) {
        const Pending done;
        queue.submit(job(i, done));
        EXPECT_TRUE(done.wait());
      }
    });
  }
  for (std::thread& submitter : submitters) submitter.join();
  EXPECT_EQ(ran, 800);
}

}  // namespace
}  // namespace pianola::backend
