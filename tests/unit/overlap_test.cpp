// SPDX-License-Identifier: Apache-2.0
// The sweep over bound slots, against comparing every pair.
#include "record/overlap.hpp"

#include <random>

namespace pianola {
namespace {

SlotInterval interval(uintptr_t begin, uintptr_t end, bool written, bool may_alias = false) {
  return {.begin = begin, .end = end, .slot = 0, .written = written, .may_alias = may_alias};
}

bool overlap_where_they_must_not(const SlotInterval& a, const SlotInterval& b) {
  if (a.begin == a.end || b.begin == b.end) return false;
  if (a.begin >= b.end || b.begin >= a.end) return false;
  return (a.written || b.written) && !(a.may_alias && b.may_alias);
}

TEST(Overlap, NeighboursDoNotOverlap) {
  EXPECT_FALSE(find_overlap({interval(0, 16, true), interval(16, 32, true)}));
}

TEST(Overlap, OneSharedByteIsEnough) {
  EXPECT_TRUE(find_overlap({interval(0, 17, true), interval(16, 32, false)}));
  EXPECT_TRUE(find_overlap({interval(0, 17, false), interval(16, 32, true)}));
}

TEST(Overlap, ReadersMayShare) {
  EXPECT_FALSE(find_overlap({interval(0, 64, false), interval(0, 64, false), interval(8, 16, false)}));
}

TEST(Overlap, BothMustBeAllowedToAlias) {
  EXPECT_FALSE(find_overlap({interval(0, 64, true, true), interval(0, 64, true, true)}));
  EXPECT_TRUE(find_overlap({interval(0, 64, true, true), interval(0, 64, false, false)}));
}

TEST(Overlap, EmptySlotsNeverOverlap) {
  EXPECT_FALSE(find_overlap({interval(8, 8, true), interval(0, 64, true)}));
}

TEST(Overlap, FindsWhatComparingEveryPairFinds) {
  std::mt19937 random(1);
  for (int round = 0; round < 5000; ++round) {
    std::vector<SlotInterval> intervals;
    const uint32_t count = random() % 8;
    for (uint32_t i = 0; i < count; ++i) {
      const uintptr_t begin = random() % 40;
      intervals.push_back({.begin = begin,
                           .end = begin + random() % 12,
                           .slot = i,
                           .written = random() % 2 == 0,
                           .may_alias = random() % 2 == 0});
    }
    bool expected = false;
    for (uint32_t a = 0; a < count; ++a) {
      for (uint32_t b = a + 1; b < count; ++b) {
        expected = expected || overlap_where_they_must_not(intervals[a], intervals[b]);
      }
    }
    const auto found = find_overlap(intervals);
    ASSERT_EQ(found.has_value(), expected);
    if (found) {
      EXPECT_TRUE(overlap_where_they_must_not(intervals[found->first], intervals[found->second]));
    }
  }
}

}  // namespace
}  // namespace pianola
