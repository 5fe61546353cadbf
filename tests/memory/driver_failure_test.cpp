// SPDX-License-Identifier: Apache-2.0
// A device that is lost while memory is out.
#include "backend/driver_graph/driver.hpp"
#include "failing_allocator.hpp"
#include "support/expect.hpp"

namespace pianola::driver_graph {
namespace {

using test::Failing;
using test::FailingAllocation;

// L7
TEST(OutOfMemoryOnADriver, ALostDeviceIsRememberedWithoutMemory) {
  for (const Failing how : {Failing::once, Failing::from_then_on}) {
    bool has_failed = true;
    for (int64_t allowed = 0; has_failed; ++allowed) {
      DriverTable table;
      table.release_context = [](const void*, Context) { return Result<>(); };
      const Driver driver(table);
      Error error{.code = Errc::execution_failed, .message = "a text that does not fit a short string"};
      std::optional<Error> lost;
      {
        const FailingAllocation failing(allowed, how);
        const FailingAllocation::Region region;
        error = driver.note(std::move(error));
        lost = driver.lost();
        has_failed = FailingAllocation::has_failed();
      }
      EXPECT_EQ(error.code, Errc::execution_failed);
      ASSERT_TRUE(lost);
      EXPECT_TRUE(lost->code == Errc::device_lost || (has_failed && lost->code == Errc::out_of_memory));
      EXPECT_EQ(driver.lost()->code, Errc::device_lost);
    }
  }
}

}  // namespace
}  // namespace pianola::driver_graph
