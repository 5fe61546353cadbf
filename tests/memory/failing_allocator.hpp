// SPDX-License-Identifier: Apache-2.0
// Replaces operator new, and malloc of the library, by versions that fail on request and count what is live.
#pragma once

#include <cstdint>

namespace pianola::test {

enum class Failing : bool { once, from_then_on };

/// While one exists, allocations of this thread count down and the one after `allowed` fails; later ones succeed, or
/// fail too.
class FailingAllocation {
 public:
  explicit FailingAllocation(int64_t allowed, Failing how = Failing::once);
  ~FailingAllocation();
  FailingAllocation(const FailingAllocation&) = delete;
  FailingAllocation& operator=(const FailingAllocation&) = delete;

  /// True once an allocation has failed.
  static bool has_failed();
  /// Allocations are only made to fail inside of these. They may not be nested.
  class Region {
   public:
    Region();
    ~Region();
    Region(const Region&) = delete;
    Region& operator=(const Region&) = delete;
  };
};

/// Blocks from operator new and the library's malloc, of all threads, that are not freed.
int64_t live_allocations();

}  // namespace pianola::test
