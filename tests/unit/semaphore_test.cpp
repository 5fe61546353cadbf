// SPDX-License-Identifier: Apache-2.0
// Timeline semaphores and submissions as the host sees them.
#include <thread>

#include "backend/completion.hpp"

namespace pianola {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

const Error broken{.code = Errc::execution_failed, .message = "as asked"};

TEST(Semaphore, StartsAtItsInitialValueAndGrows) {
  const Semaphore semaphore = *Semaphore::create(3);
  EXPECT_EQ(semaphore.value(), 3U);
  ASSERT_TRUE(semaphore.signal(10));
  EXPECT_EQ(semaphore.value(), 10U);
  EXPECT_TRUE(semaphore.wait(10));
}

TEST(Semaphore, RefusesAValueThatIsNotAboveItsOwn) {
  const Semaphore semaphore = *Semaphore::create(3);
  EXPECT_EQ(semaphore.signal(3).error().code, Errc::invalid_argument);
  EXPECT_EQ(semaphore.signal(2).error().code, Errc::invalid_argument);
  EXPECT_EQ(semaphore.value(), 3U);
}

TEST(Semaphore, BoundedWaitEndsWithTimeout) {
  const Semaphore semaphore = *Semaphore::create();
  EXPECT_EQ(semaphore.wait_for(1, milliseconds(1)).error().code, Errc::timeout);
  EXPECT_EQ(semaphore.wait_for(1, nanoseconds(0)).error().code, Errc::timeout);
}

TEST(Semaphore, ValueReachedBeforeAFailureStaysReached) {
  const Semaphore semaphore = *Semaphore::create();
  ASSERT_TRUE(semaphore.signal(5));
  semaphore.state()->fail(broken);
  EXPECT_TRUE(semaphore.wait(5));
  EXPECT_EQ(semaphore.wait(6).error().code, Errc::dependency_failed);
  EXPECT_EQ(semaphore.signal(6).error().code, Errc::dependency_failed);
}

TEST(Semaphore, CallsBackOnceForEachWaiterThatIsReached) {
  Semaphore::State state(0);
  int first = 0;
  int second = 0;
  state.when_reached(1, [&](const auto&) { ++first; });
  state.when_reached(2, [&](const auto&) { ++second; });
  ASSERT_TRUE(state.signal(1));
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 0);
  ASSERT_TRUE(state.signal(5));
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 1);
  state.when_reached(5, [&](const auto&) { ++first; });
  EXPECT_EQ(first, 2);
}

TEST(Semaphore, FailureCallsBackWithTheFirstError) {
  Semaphore::State state(0);
  std::optional<Error> seen;
  state.when_reached(1, [&](const std::optional<Error>& error) { seen = error; });
  state.fail(broken);
  state.fail(Error{.code = Errc::device_lost, .message = "later"});
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->code, Errc::dependency_failed);
  EXPECT_NE(seen->message.find("as asked"), std::string::npos);
  EXPECT_NE(state.wait(1, {}).error().message.find("as asked"), std::string::npos);
  EXPECT_TRUE(state.is_ready(1, nullptr));
}

TEST(Semaphore, APromiseIsForWorkOfItsDeviceOnly) {
  Semaphore::State state(0);
  const int one = 0, other = 0;
  int ready = 0, reached = 0;
  const auto count = [](int& n) { return [&n](const std::optional<Error>& error) { n += error ? 100 : 1; }; };
  state.when_ready(2, &one, count(ready));
  state.when_ready(2, &other, count(reached));
  state.when_reached(2, count(reached));
  const auto end = std::make_shared<const DeviceSignal>(&one);
  state.promise(3, end);
  EXPECT_EQ(ready, 1);
  EXPECT_EQ(reached, 0);
  EXPECT_EQ(*state.promised(2, &one), end);
  EXPECT_EQ(*state.promised(3, &one), end);
  EXPECT_EQ(*state.promised(4, &one), nullptr) << "that value is not promised";
  EXPECT_EQ(*state.promised(2, &other), nullptr);
  EXPECT_TRUE(state.is_ready(3, &one));
  EXPECT_FALSE(state.is_ready(4, &one));
  EXPECT_FALSE(state.is_ready(3, &other));
  EXPECT_FALSE(state.is_ready(3, nullptr));
  EXPECT_EQ(state.wait(2, nanoseconds(0)).error().code, Errc::timeout) << "a promise is no signal";
  state.when_ready(1, &one, count(ready));
  EXPECT_EQ(ready, 2);
  ASSERT_TRUE(state.signal(3));
  EXPECT_EQ(ready, 2) << "called back once";
  EXPECT_EQ(reached, 2);
  EXPECT_EQ(*state.promised(3, &one), nullptr) << "reached: there is nothing to wait for";
  state.promise(3, end);
  EXPECT_EQ(end.use_count(), 1) << "a value that was reached is not promised";
}

TEST(Semaphore, AFailureEndsItsPromises) {
  Semaphore::State state(0);
  const int device = 0;
  const auto end = std::make_shared<const DeviceSignal>(&device);
  state.promise(2, end);
  state.fail(broken);
  EXPECT_EQ(state.promised(2, &device).error().code, Errc::dependency_failed);
  state.promise(2, end);
  EXPECT_EQ(end.use_count(), 1) << "nobody can signal a semaphore that failed";
  std::optional<Error> seen;
  state.when_ready(2, &device, [&](const std::optional<Error>& error) { seen = error; });
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->code, Errc::dependency_failed);
}

TEST(SemaphoreThreads, WakesAThreadThatWaits) {
  const Semaphore semaphore = *Semaphore::create();
  std::thread waiter([&] { EXPECT_TRUE(semaphore.wait(2)); });
  ASSERT_TRUE(semaphore.signal(1));
  ASSERT_TRUE(semaphore.signal(2));
  waiter.join();
}

TEST(SemaphoreThreads, FailureWakesAThreadThatWaits) {
  const Semaphore semaphore = *Semaphore::create();
  std::thread waiter([&] { EXPECT_EQ(semaphore.wait(2).error().code, Errc::dependency_failed); });
  semaphore.state()->fail(broken);
  waiter.join();
}

TEST(Submission, KeepsItsFirstError) {
  const Submission submission(std::make_shared<Submission::State>());
  EXPECT_FALSE(submission.is_done());
  EXPECT_EQ(submission.wait_for(nanoseconds(1)).error().code, Errc::timeout);
  submission.state()->complete(broken);
  EXPECT_TRUE(submission.is_done());
  EXPECT_EQ(submission.wait().error().message, "as asked");
  EXPECT_EQ(submission.wait_for(nanoseconds::max()).error().message, "as asked");
}

TEST(SubmissionThreads, WaiterMayDropTheLastHandleWhenItWakes) {
  for (int i = 0; i < 200; ++i) {
    auto state = std::make_shared<Submission::State>();
    std::thread completes([held = state]() mutable {
      held->complete(std::nullopt);
      held.reset();
    });
    EXPECT_TRUE(Submission(std::move(state)).wait_for(seconds(20)));
    completes.join();
  }
}

}  // namespace
}  // namespace pianola
