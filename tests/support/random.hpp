// SPDX-License-Identifier: Apache-2.0
// Random numbers that are the same on every platform.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pianola::test {

/// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15U + 0x1234567U) {}

  uint64_t next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15U);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
  }
  /// 0 to count - 1. Precondition: count is not 0.
  uint32_t below(uint64_t count) { return static_cast<uint32_t>(next() % count); }
  /// True in `percent` of 100 cases.
  bool chance(uint32_t percent) { return below(100) < percent; }

 private:
  uint64_t state_;
};

}  // namespace pianola::test
