// SPDX-License-Identifier: Apache-2.0
// What typical command lists cost on Metal, as the software device counts it: golden numbers. A change that makes
// one grow has to say why.
#include <gtest/gtest.h>

#include "metal_kernels.hpp"
#include "sim_metal.hpp"

namespace pianola::metal_test {
namespace {

struct Golden {
  uint32_t encoders, switches, barriers, events;
  uint64_t staged;
  friend bool operator==(const Golden&, const Golden&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Golden& g) {
    return out << "{" << g.encoders << ", " << g.switches << ", " << g.barriers << ", " << g.events << ", " << g.staged
               << "}";
  }
};

class MetalGolden : public testing::Test {
 protected:
  void SetUp() override {
    sim_metal::configure({});
    auto opened = Device::open("metal");
    ASSERT_TRUE(opened) << to_string(opened.error());
    device = *opened;
    for (auto& buffer : buffers) buffer = *device.allocate(size);
  }
  void TearDown() override {
    for (const auto& finding : sim_metal::take_findings()) ADD_FAILURE() << finding;
  }
  BufferRef slot(Recorder& rec, size_t i) { return rec.buffer(buffers[i]); }
  static Dispatch add(const BufferRef& from, const BufferRef& to) {
    return {.groups = {2}, .constants = {1U, 64U}, .bindings = {from, to}};
  }

  /// Counts of the second replay.
  Golden measure(Recorder& rec, const InstantiateOptions& options = {}) {
    auto commands = rec.finish();
    if (!commands) {
      ADD_FAILURE() << to_string(commands.error());
      return {};
    }
    sim_metal::reset_counts();
    auto graph = device.instantiate(*commands, options);
    if (!graph) {
      ADD_FAILURE() << to_string(graph.error());
      return {};
    }
    const uint64_t staged = sim_metal::counts().bytes_staged;
    for (int replay = 0; replay < 2; ++replay) {
      sim_metal::reset_counts();
      auto submission = device.queue().submit(*graph);
      EXPECT_TRUE(submission && submission->wait());
    }
    const auto counts = sim_metal::counts();
    EXPECT_EQ(counts.empty_encoders, 0U);
    EXPECT_EQ(counts.command_buffers, 1U);
    EXPECT_EQ(counts.bytes_staged, 0U) << "in a replay";
    const uint32_t encoders = counts.blit_encoders + counts.compute_encoders;
    const std::string text = graph->native_description();
    EXPECT_EQ(text.substr(text.find("metal: ")),
              fmt::format(
                  "metal: 1 command buffers, {} encoders, {} switches, {} barriers, {} blits, {} dispatches, {} "
                  "bytes staged\n",
                  encoders, counts.switches, counts.barriers, counts.fills + counts.copies, counts.dispatches, staged));
    return {encoders, counts.switches, counts.barriers, counts.events, staged};
  }

  static constexpr uint64_t size = 4096;
  Device device;
  std::array<Buffer, 8> buffers;
  KernelLibrary kernels = test_kernels();
};

}  // namespace

TEST_F(MetalGolden, CopyBarrierCopyUsesOneEncoder) {
  Recorder rec;
  rec.copy(slot(rec, 1), slot(rec, 0)).barrier().copy(slot(rec, 2), slot(rec, 1));
  EXPECT_EQ(measure(rec), (Golden{1, 0, 0, 0, 0}));
}

TEST_F(MetalGolden, DispatchFillDispatchOverIndependentBuffersUsesOneEncoder) {
  Recorder rec;
  rec.dispatch(kernels["add"], add(slot(rec, 0), slot(rec, 1)))
      .fill(slot(rec, 2), 0U)
      .dispatch(kernels["add"], add(slot(rec, 3), slot(rec, 4)));
  EXPECT_EQ(measure(rec), (Golden{1, 0, 0, 0, 0}));
}

TEST_F(MetalGolden, ASmallUnalignedFillJoinsTheDispatches) {
  Recorder rec;
  rec.dispatch(kernels["add"], add(slot(rec, 0), slot(rec, 1)))
      .barrier()
      .fill(slot(rec, 1).view(3, 5), uint8_t{7})
      .barrier()
      .dispatch(kernels["add"], add(slot(rec, 1), slot(rec, 2)));
  EXPECT_EQ(measure(rec), (Golden{1, 0, 2, 0, 0}));
}

TEST_F(MetalGolden, AChainOfDispatchesHasABarrierBetweenEachTwo) {
  Recorder rec;
  for (size_t i = 0; i < 7; ++i) rec.dispatch(kernels["add"], add(slot(rec, i), slot(rec, i + 1))).barrier();
  EXPECT_EQ(measure(rec), (Golden{1, 0, 6, 0, 0}));
}

TEST_F(MetalGolden, BarriersBetweenIndependentDispatchesCostNothing) {
  Recorder rec;
  for (size_t i = 0; i < 4; ++i) {
    rec.dispatch(kernels["add"], add(slot(rec, 2 * i), slot(rec, 2 * i + 1))).barrier();
  }
  EXPECT_EQ(measure(rec), (Golden{1, 0, 0, 0, 0}));
}

TEST_F(MetalGolden, ADiamondHasTwoBarriers) {
  Recorder rec;
  rec.dispatch(kernels["add"], add(slot(rec, 0), slot(rec, 1)))
      .barrier()
      .dispatch(kernels["add"], add(slot(rec, 1), slot(rec, 2)))
      .dispatch(kernels["add"], add(slot(rec, 1), slot(rec, 3)))
      .barrier()
      .dispatch(kernels["add"], add(slot(rec, 2), slot(rec, 4)))
      .dispatch(kernels["add"], add(slot(rec, 3), slot(rec, 5)));
  EXPECT_EQ(measure(rec), (Golden{1, 0, 2, 0, 0}));
}

TEST_F(MetalGolden, UpdatesBeforeADispatchAreStagedOnce) {
  Recorder rec;
  rec.update(slot(rec, 0), std::vector<uint32_t>(size / 4, 5))
      .barrier()
      .dispatch(kernels["add"], add(slot(rec, 0), slot(rec, 1)));
  EXPECT_EQ(measure(rec), (Golden{1, 0, 1, 0, size}));
}

TEST_F(MetalGolden, ABigTransferIsWorthABlitEncoder) {
  Recorder rec;
  const auto big = *device.allocate(uint64_t{8} << 20);
  const auto other = *device.allocate(uint64_t{8} << 20);
  rec.dispatch(kernels["add"], add(slot(rec, 0), slot(rec, 1)))
      .copy(rec.buffer(big), rec.buffer(other))
      .dispatch(kernels["add"], add(slot(rec, 2), slot(rec, 3)));
  EXPECT_EQ(measure(rec), (Golden{2, 1, 0, 0, 0}));
}

TEST_F(MetalGolden, CountsMadeByAKernelNeedASecondEncoderAndNoBarrier) {
  Recorder rec;
  const auto counts = slot(rec, 0);
  rec.dispatch(kernels["counts"], {.groups = {1}, .constants = {2U}, .bindings = {counts}})
      .barrier()
      .dispatch_indirect(kernels["add"], counts, add(slot(rec, 1), slot(rec, 2)));
  EXPECT_EQ(measure(rec), (Golden{2, 0, 0, 0, 0}));
}

TEST_F(MetalGolden, CheckedCountsGoThroughAKernelInTheEncoderBefore) {
  Recorder rec;
  const auto counts = slot(rec, 0);
  rec.dispatch(kernels["counts"], {.groups = {1}, .constants = {2U}, .bindings = {counts}})
      .barrier()
      .dispatch_indirect(kernels["add"], counts, add(slot(rec, 1), slot(rec, 2)));
  EXPECT_EQ(measure(rec, {.check_indirect = true}), (Golden{2, 0, 1, 0, 0}));
}

TEST_F(MetalGolden, FillsAndCopiesAroundDispatchesStayInTheComputeEncoder) {
  Recorder rec;
  for (int step = 0; step < 4; ++step) {
    rec.fill(slot(rec, 1), 0U)
        .barrier()
        .dispatch(kernels["add"], add(slot(rec, 0), slot(rec, 1)))
        .barrier()
        .copy(slot(rec, 2), slot(rec, 1))
        .barrier();
  }
  EXPECT_EQ(measure(rec), (Golden{1, 0, 11, 0, 0}));
}

}  // namespace pianola::metal_test
