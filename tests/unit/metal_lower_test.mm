// SPDX-License-Identifier: Apache-2.0
// S3: transfers of more than 4 GiB become dispatches that no 32-bit number overflows. Lowering is data: no memory of
// that size is needed.
#include <gtest/gtest.h>

#include <cstring>

#include "backend/metal/emit.hpp"
#include "backend/metal/lower.hpp"
#include "pianola/pianola.hpp"

namespace pianola::backend::metal {
namespace {

constexpr uint64_t gibibyte = uint64_t{1} << 30;
constexpr uint64_t size = 5 * gibibyte + 13;

Program lowered(Recorder& rec) {
  DeviceProfile profile;
  profile.form = PlanForm::waves;
  profile.copy_native = {1.0, 10.0};
  profile.copy_kernel = {2.0, 20.0};
  const auto plan = make_plan(*rec.finish(), profile);
  EXPECT_TRUE(plan) << to_string(plan.error());
  auto program = lower(*plan, {.profile = profile});
  EXPECT_TRUE(program);
  return std::move(*program);
}

/// Where one side of the pieces lies, piece by piece: `at` is the place of its first byte among a dispatch's places,
/// and the next one is that of its blocks.
void expect_one_after_another(const Program& program, size_t at, uint64_t first_offset) {
  uint64_t next = first_offset;
  for (const DispatchStep& step : program.dispatches) {
    const Place& bytes = program.places[step.first_place + at];
    const Place& blocks = program.places[step.first_place + at + 1];
    EXPECT_EQ(bytes.offset, next);
    EXPECT_EQ(blocks.slot, bytes.slot);
    EXPECT_EQ(blocks.offset % 4, 0U);
    EXPECT_LT(blocks.offset - bytes.offset, 32U);
    std::array<uint32_t, 3> cut;  // head, blocks, tail
    std::memcpy(cut.data(), program.constants.data() + step.first_constant, sizeof cut);
    EXPECT_LT(cut[0], 32U);
    EXPECT_LT(cut[2], 32U);
    const auto& kernel = builtin_kernels().kernels()[program.kernels[step.kernel].entry];
    EXPECT_GE(uint64_t{step.groups[0]} * kernel.workgroup[0], cut[1]);
    next += cut[0] + uint64_t{16} * cut[1] + cut[2];
  }
  EXPECT_EQ(next, first_offset + size);
}

TEST(MetalLower, AFillOfFiveGibibytesIsCutIntoPiecesOneAfterAnother) {
  Recorder rec;
  rec.fill(rec.buffer("x", 11 * gibibyte).view(5 * gibibyte + 1, size), uint8_t{7});
  const Program program = lowered(rec);
  ASSERT_EQ(program.dispatches.size(), 3U);
  EXPECT_EQ(program.stats.dispatches, 3U);
  expect_one_after_another(program, 0, 5 * gibibyte + 1);
}

TEST(MetalLower, ACopyOfFiveGibibytesIsCutIntoPiecesOneAfterAnotherOnBothSides) {
  for (const uint64_t from : {uint64_t{2}, uint64_t{17}}) {  // by words, by blocks
    Recorder rec;
    const auto x = rec.buffer("x", 11 * gibibyte), y = rec.buffer("y", 11 * gibibyte);
    rec.copy(x.view(5 * gibibyte + 1, size), y.view(from, size));
    const Program program = lowered(rec);
    ASSERT_EQ(program.dispatches.size(), 3U);
    expect_one_after_another(program, 0, from);
    expect_one_after_another(program, 2, 5 * gibibyte + 1);
  }
}

TEST(MetalLower, PiecesWhoseAlignmentShowsLaterAreCutAlike) {
  Recorder rec;
  const auto x = rec.buffer("x", 11 * gibibyte, {.alignment = 4}), y = rec.buffer("y", 11 * gibibyte);
  rec.copy(x.view(5 * gibibyte + 1, size), y.view(3, size));
  const Program program = lowered(rec);
  ASSERT_EQ(program.late.size(), 3U);
  uint64_t done = 0;
  for (const LateBuiltin& piece : program.late) {
    EXPECT_EQ(piece.to.offset, 5 * gibibyte + 1 + done);
    EXPECT_EQ(piece.from.offset, 3 + done);
    EXPECT_LE(piece.size, max_builtin_bytes);
    done += piece.size;
  }
  EXPECT_EQ(done, size);
}

TEST(MetalLower, ABlitOfFiveGibibytesIsOne) {
  Recorder rec;
  const auto x = rec.buffer("x", 11 * gibibyte), y = rec.buffer("y", 11 * gibibyte);
  rec.copy(x.view(5 * gibibyte, 5 * gibibyte), y.view(4, 5 * gibibyte));
  const Program program = lowered(rec);
  ASSERT_EQ(program.blits.size(), 1U);
  EXPECT_EQ(program.blits[0].to.offset, 5 * gibibyte);
  EXPECT_EQ(program.blits[0].size, 5 * gibibyte);
}

}  // namespace
}  // namespace pianola::backend::metal
