// SPDX-License-Identifier: Apache-2.0
// The cost table decides which transfers are blits: what an encoder costs against what a kernel costs more.
#include "backend/metal/group.hpp"

#include <gtest/gtest.h>

namespace pianola::backend::metal {
namespace {

constexpr Candidate dispatch{.is_dispatch = true};
constexpr Candidate copy{.can_blit = true, .blit_us = 2, .kernel_us = 10};
constexpr Candidate odd_copy{.can_blit = false, .blit_us = 2, .kernel_us = 10};

/// The layouts of these waves, as letters: c, b, and two for a wave of both.
std::string layouts(const std::vector<std::vector<Candidate>>& waves, double switch_us, double sync_us = 0) {
  std::vector<Candidate> candidates;
  std::vector<uint32_t> first = {0};
  for (const auto& wave : waves) {
    candidates.insert(candidates.end(), wave.begin(), wave.end());
    first.push_back(static_cast<uint32_t>(candidates.size()));
  }
  DeviceProfile profile;
  profile.kind_switch_us = switch_us;
  profile.sync_us = sync_us;
  const Grouping grouping = choose_encoders(candidates, first, profile);
  for (size_t i = 0; i < candidates.size(); ++i) {
    EXPECT_FALSE(grouping.is_blit[i] && !candidates[i].can_blit);
  }
  std::string text;
  for (const Layout layout : grouping.layouts) {
    if (!text.empty()) text += ' ';
    text += layout == Layout::compute             ? "c"
            : layout == Layout::blit              ? "b"
            : layout == Layout::blit_then_compute ? "bc"
                                                  : "cb";
  }
  return text;
}

}  // namespace

TEST(MetalGroup, ACopyBetweenDispatchesIsABlitIfTwoChangesOfEncoderCostLess) {
  const std::vector<std::vector<Candidate>> waves = {{dispatch}, {copy}, {dispatch}};
  EXPECT_EQ(layouts(waves, 3.9), "c b c");
  EXPECT_EQ(layouts(waves, 4.1), "c c c");
}

TEST(MetalGroup, BarriersWithinAnEncoderCountAgainstKernels) {
  const std::vector<std::vector<Candidate>> waves = {{dispatch}, {copy}, {dispatch}};
  EXPECT_EQ(layouts(waves, 5.0, 0.9), "c c c");
  EXPECT_EQ(layouts(waves, 5.0, 1.1), "c b c");
}

TEST(MetalGroup, ARunOfCopiesSharesTheChangesOfEncoder) {
  EXPECT_EQ(layouts({{dispatch}, {copy}, {copy}, {copy}, {dispatch}}, 11.9), "c b b b c");
  EXPECT_EQ(layouts({{dispatch}, {copy}, {copy}, {copy}, {dispatch}}, 12.1), "c c c c c");
}

TEST(MetalGroup, ACopyBesideADispatchStandsWhereThereIsABlitEncoderAlready) {
  EXPECT_EQ(layouts({{copy}, {dispatch, copy}, {dispatch}}, 1), "b bc c");
  EXPECT_EQ(layouts({{dispatch}, {dispatch, copy}, {copy}}, 1), "c cb b");
  EXPECT_EQ(layouts({{dispatch}, {dispatch, copy}, {dispatch}}, 9), "c c c");
}

TEST(MetalGroup, AtTheBeginningAndTheEndOnlyOneChangeIsPaidFor) {
  EXPECT_EQ(layouts({{copy}, {dispatch}}, 7.9), "b c");
  EXPECT_EQ(layouts({{dispatch}, {copy}}, 7.9), "c b");
  EXPECT_EQ(layouts({{copy}, {dispatch}}, 8.1), "c c");
}

TEST(MetalGroup, WhatNoBlitMayDoStaysAKernel) {
  EXPECT_EQ(layouts({{odd_copy}, {odd_copy, copy}}, 100), "c c");
  EXPECT_EQ(layouts({{odd_copy, copy}}, 0.5), "bc");
  EXPECT_EQ(layouts({{odd_copy}}, 0), "c");
  EXPECT_EQ(layouts({}, 1), "");
}

}  // namespace pianola::backend::metal
