// SPDX-License-Identifier: Apache-2.0
// A device that fails while memory is out: the error, or out_of_memory, reaches whoever waits.
#include "failing_allocator.hpp"
#include "pianola/pianola.hpp"
#include "sim_driver.hpp"
#include "support/expect.hpp"

namespace pianola {
namespace {

using test::Failing;
using test::FailingAllocation;

// L7
TEST(OutOfMemoryOnADriver, AFailureOfTheDeviceIsPassedOn) {
  const sim::SimDriver sim{PIANOLA_SIM_CUDA};
  sim.add_builtin();
  for (const Failing how : {Failing::once, Failing::from_then_on}) {
    bool has_failed = true;
    for (int64_t allowed = 0; has_failed; ++allowed) {
      const Device device = *Device::open("cuda:0", {.driver_path = sim.path()});
      Recorder recorder;
      recorder.fill(recorder.buffer(*device.allocate(4096)), 7U);
      const Graph graph = *device.instantiate(*recorder.finish());
      EXPECT_TRUE(test::succeeded(device.queue().submit(graph)->wait()));
      sim.fault_after(0);
      const Submission failing = *device.queue().submit(graph);
      Result<> done;
      {
        const FailingAllocation failing_allocation(allowed, how);
        const FailingAllocation::Region region;
        done = failing.wait();
        has_failed = FailingAllocation::has_failed();
      }
      ASSERT_FALSE(done.has_value());
      EXPECT_TRUE(done.error().code == Errc::execution_failed ||
                  (has_failed && done.error().code == Errc::out_of_memory))
          << to_string(done.error());
      const auto later = device.queue().submit(graph);
      EXPECT_FALSE(later.has_value() && later->wait().has_value()) << "the device is lost all the same";
      sim.fault_after(-1);
      sim.revive();
    }
  }
}

}  // namespace
}  // namespace pianola
