// SPDX-License-Identifier: Apache-2.0
// L6: a command buffer that fails on the device is reported, and whoever waits for it wakes.
#include <latch>
#include <thread>

#include "metal_device_test.hpp"
#include "metal_gate.hpp"
#include "metal_kernels.hpp"

namespace pianola::metal_test {
namespace {

class MetalWake : public MetalDeviceTest {
 protected:
  void SetUp() override {
    sim_metal::clear_faults();
    MetalDeviceTest::SetUp();
  }
  Graph filling(const Buffer& memory) const {
    Recorder rec;
    rec.fill(rec.buffer(memory), 1U);
    return *device.instantiate(*rec.finish());
  }
};

/// Threads that block in one call each, and what it gave them.
class Waiters {
 public:
  explicit Waiters(std::vector<std::function<Result<>()>> calls) : results_(calls.size()), blocked_(calls.size()) {
    for (size_t i = 0; i < calls.size(); ++i) {
      threads_.emplace_back([this, i, call = std::move(calls[i])] {
        blocked_.count_down();
        results_[i] = call();
      });
    }
    blocked_.wait();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // so that they most likely sleep by now
  }
  ~Waiters() { join(); }
  std::vector<Errc> codes() {
    join();
    std::vector<Errc> codes;
    for (const auto& result : results_) codes.push_back(result ? Errc{} : result.error().code);
    return codes;
  }

 private:
  void join() {
    for (auto& thread : threads_) thread.join();
    threads_.clear();
  }
  std::vector<Result<>> results_;
  std::latch blocked_;
  std::vector<std::thread> threads_;
};

}  // namespace

TEST_F(MetalWake, AFailureOnTheDeviceWakesEveryoneWhoWaitsForItWithTheRightCode) {
  const std::vector<std::pair<int64_t, Errc>> kinds = {
      {1, Errc::execution_failed}, {2, Errc::execution_failed}, {3, Errc::execution_failed}, {4, Errc::device_lost},
      {7, Errc::execution_failed}, {8, Errc::out_of_memory},    {9, Errc::execution_failed}, {11, Errc::device_lost}};
  for (const auto& [native, code] : kinds) {
    device = *Device::open("metal");  // the last one may be lost
    const auto graph = filling(*device.allocate(64));
    const auto turn = *Semaphore::create();
    Gate gate(device, device.queue(0));
    sim_metal::fail_command_buffer(0, native);
    const auto failed = *device.queue(0).submit(graph, {.signal = {{turn, 1}}});
    const auto follower = *device.queue(1).submit(graph, {.wait = {{turn, 1}}, .signal = {{turn, 2}}});
    Waiters waiters({[&] { return failed.wait(); }, [&] { return device.queue(0).wait_idle(); },
                     [&] { return turn.wait(1); }, [&] { return turn.wait_for(2, std::chrono::hours(1)); },
                     [&] { return follower.wait(); }, [&] { return device.queue(1).wait_idle(); }});
    EXPECT_FALSE(failed.is_done() || follower.is_done());
    gate.open();
    const Errc follows = Errc::dependency_failed;
    EXPECT_EQ(waiters.codes(), (std::vector<Errc>{code, code, follows, follows, follows, follows})) << native;
    const Error error = failed.wait().error();
    EXPECT_EQ(error.native_code, native);
    EXPECT_NE(error.message.find("fault asked for"), std::string::npos) << error.message;
  }
}

TEST_F(MetalWake, AKernelThatFollowsAWildPointerFailsItsSubmissionAndWakesTheWaiter) {
  const char* source = R"(
struct Target { device uint* at; };
kernel void follow(device const Target* target [[buffer(0)]]) { *target->at += 1; }
)";
  KernelInfo info{.name = "follow", .workgroup = {1, 1, 1}, .opaque = true};
  info.bindings = {{.name = "target", .binding = 0, .access = Access::in, .element_size = 8}};
  auto target = *device.allocate(8);
  ASSERT_TRUE(target.write(0, std::vector<uint64_t>{4096}));
  Recorder rec;
  rec.dispatch(library_of({info}, prologue + std::string(source))["follow"],
               {.groups = {1}, .bindings = {rec.buffer(target)}});
  const auto graph = *device.instantiate(*rec.finish());
  const auto turn = *Semaphore::create();
  Gate gate(device, device.queue(0));
  const auto failed = *device.queue(0).submit(graph, {.signal = {{turn, 1}}});
  Waiters waiters({[&] { return failed.wait(); }, [&] { return turn.wait(1); }});
  gate.open();
  EXPECT_EQ(waiters.codes(), (std::vector<Errc>{Errc::execution_failed, Errc::dependency_failed}));
  EXPECT_EQ(failed.wait().error().native_code, 3);
  const auto findings = sim_metal::take_findings();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_TRUE(findings[0].starts_with("page fault: ")) << findings[0];
  EXPECT_TRUE((*device.queue(0).submit(filling(target))).wait()) << "the queue goes on";
}

}  // namespace pianola::metal_test
