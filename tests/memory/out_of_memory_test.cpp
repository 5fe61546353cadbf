// SPDX-License-Identifier: Apache-2.0
// Every allocation that the library makes, from recording to submitting, fails once: the error comes out, nothing
// leaks, and a second attempt succeeds.
#include <optional>

#include "failing_allocator.hpp"
#include "pianola/pianola.hpp"
#include "support/bytes.hpp"
#include "support/expect.hpp"

namespace pianola {
namespace {

using test::counting;
using test::Failing;
using test::FailingAllocation;
using test::is_error;
using test::live_allocations;
using test::repeated;
using test::succeeded;
using test::to_bytes;

/// All that a run needs and that is not the library's: made beforehand, so that only the library's calls can fail.
struct Setting {
  Device device;
  KernelLibrary kernels;
  Kernel add;
  CommandBuffer inner;
  Buffer x;
  Buffer y;
  Buffer z;
};

/// Makes allocations fail inside of one call.
template <class Call>
auto risky(Call&& call) {
  const FailingAllocation::Region region;
  return call();
}

Result<CommandBuffer> record(const Setting& with) {
  Recorder rec = risky([] { return Recorder(); });
  const BufferRef x = risky([&] { return rec.buffer("x", 256); });
  const BufferRef y = risky([&] { return rec.buffer("a slot whose name does not fit a short string", 256); });
  const BufferRef z = risky([&] { return rec.buffer(with.z); });
  const ConstantRef value = risky([&] { return rec.constant("a constant with a long name as well", 4); });
  const EventRef event = risky([&] { return rec.event(); });
  const std::vector<uint32_t> words = counting(64);
  const Dispatch given{.constants = {value, 64U}, .bindings = {y}};
  const Dispatch state{};
  const std::array<BufferRef, 2> ranges = {x, y};
  const ExecuteArguments map{.bindings = {{SlotId{0}, y}}, .constants = {{ConstantId{0}, 7U}}};
  const std::array<Descriptor, 1> set = {{{0, x}}};
  const std::array<uint32_t, 2> constants = {3, 64};
  for (int round = 0; round < 40; ++round) {
    risky([&] { rec.fill(x, 1U).barrier().update(x, words).signal_event(event).wait_event(event).copy(y, x); });
    risky([&] { rec.begin_debug_group("a debug group").barrier(ranges).dispatch(with.add, given).barrier(); });
    risky([&] { rec.push_descriptor_set(0, set).push_constants(0, constants).dispatch(with.add, state).barrier(); });
    risky([&] { rec.execute(with.inner, map).end_debug_group().barrier().copy(z, y).barrier(); });
  }
  return risky([&] { return rec.finish(); });
}

/// One whole run. Gives the first error, or nothing after it has checked the result.
std::optional<Error> run(const Setting& with, PlanForm form) {
  Result<CommandBuffer> commands = record(with);
  if (!commands) return commands.error();
  InstantiateOptions options;
  options.plan.form = form;
  options.bindings = {{SlotId{0}, with.x}};
  const Result<Graph> graph = risky([&] { return with.device.instantiate(*commands, options); });
  if (!graph) return graph.error();
  SubmitInfo info;
  info.bindings = {{SlotId{1}, with.y}};
  info.constants = {{ConstantId{0}, 5U}};
  const Queue queue = with.device.queue();
  for (int launch = 0; launch < 2; ++launch) {
    const Result<Submission> submission = risky([&] { return queue.submit(*graph, info); });
    if (!submission) return submission.error();
    const Result<> done = submission->wait();
    if (!done) return done.error();
  }
  std::vector<uint32_t> got(64);
  EXPECT_TRUE(succeeded(with.z.read(0, got)));
  EXPECT_EQ(got, counting(64, 12)) << "0.. + 5 + 7";
  return std::nullopt;
}

Setting make_setting() {
  Setting with;
  with.device = *Device::open("cpu", {.threads = 1});
  with.kernels = *KernelLibrary::load(PIANOLA_TEST_KERNELS);
  with.add = with.kernels["add_constant"];
  Recorder rec;
  const BufferRef data = rec.buffer("data", 256);
  const ConstantRef value = rec.constant("value", 4);
  rec.dispatch(with.add, {.constants = {value, 64U}, .bindings = {data}}).barrier();
  with.inner = *rec.finish();
  with.x = *with.device.allocate(256);
  with.y = *with.device.allocate(256);
  with.z = *with.device.allocate(256);
  return with;
}

constexpr int attempts = 5;  ///< with each allocation failing

/// A leak of one attempt shows in each of them; what queues and threads keep for the next run does not.
void expect_flat(int64_t before, int64_t allowed) {
  ASSERT_LT(live_allocations() - before, attempts - 1) << "allocation " << allowed << " leaves memory behind";
}

/// Lets each allocation of `attempt` fail in turn, several times, until one run needs no more. `attempt` gives its
/// error; after each failure `retry` must succeed.
template <class Attempt, class Retry>
void sweep(Attempt&& attempt, Retry&& retry, int64_t least) {
  for (int warm = 0; warm < 3; ++warm) retry();
  for (int64_t allowed = 0;; ++allowed) {
    bool has_failed = false;
    int64_t before = 0;
    for (int i = 0; i < attempts; ++i) {
      {
        const FailingAllocation failing(allowed, i % 2 == 0 ? Failing::once : Failing::from_then_on);
        const std::optional<Error> error = attempt();
        has_failed = FailingAllocation::has_failed();
        if (error) {
          ASSERT_TRUE(has_failed) << to_string(*error);
          ASSERT_TRUE(is_error(*error, Errc::out_of_memory)) << "allocation " << allowed;
        }
      }
      ASSERT_NO_FATAL_FAILURE(retry()) << "after allocation " << allowed;
      if (i == 0) before = live_allocations();
    }
    ASSERT_NO_FATAL_FAILURE(expect_flat(before, allowed));
    if (has_failed) continue;
    EXPECT_GT(allowed, least) << "fewer allocations than any run needs: the sweep does not reach the library";
    return;
  }
}

void sweep_run(PlanForm form) {
  const Setting with = make_setting();
  const auto attempt = [&] { return run(with, form); };
  sweep(attempt, [&] { ASSERT_FALSE(run(with, form).has_value()); }, 50);
}

// L7
TEST(OutOfMemory, EveryAllocationOfALanesRunMayFail) {
  sweep_run(PlanForm::lanes);
}

// L7
TEST(OutOfMemory, EveryAllocationOfAWavesRunMayFail) {
  sweep_run(PlanForm::waves);
}

// L7
TEST(OutOfMemory, EveryAllocationOfOneShotWorkMayFail) {
  const Setting with = make_setting();
  const Result<CommandBuffer> commands = record(with);
  ASSERT_TRUE(succeeded(commands));
  SubmitInfo info;
  info.bindings = {{SlotId{0}, with.x}, {SlotId{1}, with.y}};
  info.constants = {{ConstantId{0}, 5U}};
  const auto attempt = [&]() -> std::optional<Error> {
    const Result<Submission> submission = risky([&] { return with.device.queue().run(*commands, info); });
    if (!submission) return submission.error();
    const Result<> done = submission->wait();
    return done ? std::nullopt : std::optional(done.error());
  };
  sweep(attempt, [&] { ASSERT_FALSE(attempt().has_value()); }, 20);
}

/// Work that fails when it runs, and signals; and work on another queue that waits for it.
struct FailingPair {
  Graph fails;
  Graph waits;
};

FailingPair make_failing_pair(const Setting& with) {
  const uint32_t too_many[3] = {UINT32_MAX, 1, 1};
  Buffer memory = with.x;
  EXPECT_TRUE(succeeded(memory.write(0, too_many)));
  Recorder first;
  const BufferRef counts = first.buffer(with.x);
  const BufferRef y = first.buffer(with.y);
  first.dispatch_indirect(with.add, counts.view(0, 12), {.constants = {1U, 64U}, .bindings = {y}});
  Recorder second;
  second.fill(second.buffer(with.z), 1U);
  return {*with.device.instantiate(*first.finish()), *with.device.instantiate(*second.finish())};
}

// L7
TEST(OutOfMemory, EveryAllocationWhileAFailureIsPassedOnMayFail) {
  const Setting with = make_setting();
  const FailingPair graphs = make_failing_pair(with);
  const auto attempt = [&]() -> std::optional<Error> {
    const Semaphore semaphore = *Semaphore::create();
    const SubmitInfo wait{.wait = {{semaphore, 1}}};
    const SubmitInfo signal{.signal = {{semaphore, 1}}};
    const Submission waiter = *with.device.queue(1).submit(graphs.waits, wait);
    const Result<Submission> failing = risky([&] { return with.device.queue().submit(graphs.fails, signal); });
    const Result<> done = failing ? failing->wait() : Result<>(failing.error());
    if (!failing) {
      EXPECT_TRUE(succeeded(semaphore.signal(1)));
    }
    EXPECT_FALSE(done);
    EXPECT_EQ(waiter.wait().has_value(), !failing.has_value()) << "who waits for what failed fails";
    // Whoever waits later fails at once.
    const Result<Submission> late = risky([&] { return with.device.queue().submit(graphs.waits, wait); });
    if (!late) return late.error();
    EXPECT_EQ(late->wait().has_value(), !failing.has_value());
    return done.error().code == Errc::out_of_memory ? std::optional(done.error()) : std::nullopt;
  };
  sweep(attempt, [&] { ASSERT_FALSE(attempt().has_value()); }, 5);
}

// L7
TEST(OutOfMemory, EveryAllocationOfOpeningADeviceMayFail) {
  const auto attempt = []() -> std::optional<Error> {
    const Result<Device> device = risky([] { return Device::open("cpu", {.threads = 1}); });
    if (!device) return device.error();
    const Result<Buffer> buffer = risky([&] { return device->allocate(1000); });
    return buffer ? std::nullopt : std::optional(buffer.error());
  };
  sweep(attempt, [&] { ASSERT_FALSE(attempt().has_value()); }, 3);
}

// R3, on the host
TEST(OutOfMemory, TenThousandRebindsKeepMemoryFlat) {
  const Setting with = make_setting();
  Recorder rec;
  const BufferRef from = rec.buffer("from", 128, {.alignment = 128});
  rec.copy(rec.buffer("to", 128, {.alignment = 128}), from);
  const Result<CommandBuffer> commands = rec.finish();
  ASSERT_TRUE(succeeded(commands));
  const Result<Graph> graph = with.device.instantiate(*commands);
  ASSERT_TRUE(succeeded(graph));
  const auto rebind = [&](uint64_t i) {
    const BufferView source = with.x.view(128 * (i % 2), 128);
    const BufferView target = (i % 3 == 0 ? with.y : with.z).view(128 * (i % 2), 128);
    const auto submission = with.device.queue().submit(*graph, {.bindings = {{"from", source}, {"to", target}}});
    ASSERT_TRUE(succeeded(submission));
    ASSERT_TRUE(succeeded(submission->wait()));
  };
  for (uint64_t i = 0; i < 100; ++i) rebind(i);
  const int64_t before = live_allocations();
  for (uint64_t i = 0; i < 10000; ++i) rebind(i);
  EXPECT_EQ(live_allocations(), before);
}

}  // namespace
}  // namespace pianola
