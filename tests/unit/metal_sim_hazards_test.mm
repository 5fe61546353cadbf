// SPDX-License-Identifier: Apache-2.0
// The software Metal: every kind of conflict that nothing orders is found, and none that is ordered.
#include <algorithm>
#include <array>

#include "metal_sim_fixture.h"

namespace {

class SimMetalHazards : public SimMetal {
 protected:
  using Compute = std::function<void(id<MTLComputeCommandEncoder>)>;
  using Blit = std::function<void(id<MTLBlitCommandEncoder>)>;

  void SetUp() override {
    SimMetal::SetUp();
    set = pipeline("set_bytes");
    get = pipeline("get_bytes");
    a = buffer(256);
    loose = buffer(256, MTLResourceHazardTrackingModeUntracked);
    other = buffer(256, MTLResourceHazardTrackingModeUntracked);
    for (auto& fence : fences) fence = [device newFence];
  }
  void TearDown() override {
    for (id<MTLFence> fence : fences) [fence release];
    SimMetal::TearDown();
  }

  /// A dispatch that touches these bytes; each read has a target of its own.
  Compute write(id<MTLBuffer> memory, uint32_t offset, uint32_t count) {
    return [=, this](id<MTLComputeCommandEncoder> e) { set_bytes(e, set, memory, {offset, count, 1}); };
  }
  Compute read(id<MTLBuffer> memory, uint32_t offset, uint32_t count) {
    id<MTLBuffer> to = buffer(256);
    return [=, this](id<MTLComputeCommandEncoder> e) { get_bytes(e, get, memory, to, {offset, count, 0}); };
  }
  /// Both in one concurrent encoder.
  void together(const Compute& first, const Compute& second) {
    compute([&](id<MTLComputeCommandEncoder> e) {
      first(e);
      second(e);
    });
  }

  /// Encodes an encoder that waits for fences and updates one.
  static void encode(id<MTLCommandBuffer> commands, const Compute& what, const std::vector<id<MTLFence>>& wait,
                     id<MTLFence> update) {
    id<MTLComputeCommandEncoder> e = [commands computeCommandEncoder];
    for (id<MTLFence> fence : wait) [e waitForFence:fence];
    what(e);
    if (update != nil) [e updateFence:update];
    [e endEncoding];
  }
  static void encode(id<MTLCommandBuffer> commands, const Blit& what, const std::vector<id<MTLFence>>& wait,
                     id<MTLFence> update) {
    id<MTLBlitCommandEncoder> e = [commands blitCommandEncoder];
    for (id<MTLFence> fence : wait) [e waitForFence:fence];
    what(e);
    if (update != nil) [e updateFence:update];
    [e endEncoding];
  }
  /// In two encoders, over memory that Metal does not track: found without a fence, and not with one.
  template <class First, class Second>
  void expect_to_need_a_fence(const First& first, const Second& second) {
    const auto both = [&](bool fenced) {
      run([&](id<MTLCommandBuffer> commands) {
        encode(commands, first, {}, fences[0]);
        encode(commands, second, fenced ? std::vector{fences[0]} : std::vector<id<MTLFence>>{}, nil);
      });
    };
    both(true);
    expect_no_finding();
    both(false);
    expect_finding("hazard");
  }

  id<MTLComputePipelineState> set = nil, get = nil;
  id<MTLBuffer> a = nil, loose = nil, other = nil;
  std::array<id<MTLFence>, 3> fences{};
};

}  // namespace

TEST_F(SimMetalHazards, AReadAfterAWrite) {
  together(write(a, 0, 64), read(a, 0, 64));
  expect_finding("hazard");
}

TEST_F(SimMetalHazards, AWriteAfterARead) {
  together(read(a, 0, 64), write(a, 0, 64));
  expect_finding("hazard");
}

TEST_F(SimMetalHazards, AWriteAfterAWrite) {
  together(write(a, 0, 64), write(a, 0, 64));
  expect_finding("hazard");
}

TEST_F(SimMetalHazards, TwoReadsAreNone) {
  together(read(a, 0, 64), read(a, 0, 64));
  expect_no_finding();
}

TEST_F(SimMetalHazards, ARangeWithinAnother) {
  together(write(a, 0, 64), read(a, 16, 8));
  expect_finding("hazard");
}

TEST_F(SimMetalHazards, OneByteAtTheEnd) {
  together(write(a, 0, 64), read(a, 63, 1));
  expect_finding("hazard");
}

TEST_F(SimMetalHazards, OneByteInFront) {
  together(write(a, 64, 64), read(a, 0, 65));
  expect_finding("hazard");
}

TEST_F(SimMetalHazards, RangesThatTouchAreNone) {
  together(write(a, 1, 63), read(a, 64, 64));
  together(write(a, 1, 63), read(a, 0, 1));
  expect_no_finding();
}

TEST_F(SimMetalHazards, ABarrierOrdersReadsAndWrites) {
  compute([&](id<MTLComputeCommandEncoder> e) {
    write(a, 0, 64)(e);
    [e memoryBarrierWithScope:MTLBarrierScopeBuffers];
    read(a, 0, 64)(e);
    [e memoryBarrierWithScope:MTLBarrierScopeBuffers];
    write(a, 0, 64)(e);
  });
  expect_no_finding();
}

TEST_F(SimMetalHazards, ABarrierOfOtherScopesOrdersNoBuffers) {
  compute([&](id<MTLComputeCommandEncoder> e) {
    write(a, 0, 64)(e);
    [e memoryBarrierWithScope:MTLBarrierScopeTextures | MTLBarrierScopeRenderTargets];
    read(a, 0, 64)(e);
  });
  expect_finding("hazard");
}

TEST_F(SimMetalHazards, ABarrierThatStandsElsewhereOrdersNothing) {
  compute([&](id<MTLComputeCommandEncoder> e) {
    read(a, 128, 1)(e);
    [e memoryBarrierWithScope:MTLBarrierScopeBuffers];
    write(a, 0, 64)(e);
    read(a, 0, 64)(e);
    [e memoryBarrierWithScope:MTLBarrierScopeBuffers];
  });
  expect_finding("hazard");
}

TEST_F(SimMetalHazards, AnEarlierReadIsNotHiddenByALaterOne) {
  compute([&](id<MTLComputeCommandEncoder> e) {
    read(a, 0, 64)(e);
    [e memoryBarrierWithScope:MTLBarrierScopeBuffers];
    read(a, 0, 64)(e);
    write(a, 0, 64)(e);
  });
  expect_finding("hazard");
}

TEST_F(SimMetalHazards, DispatchesOfTwoEncodersOverUntrackedMemory) {
  expect_to_need_a_fence(write(loose, 0, 64), read(loose, 0, 64));
  expect_to_need_a_fence(read(loose, 0, 64), write(loose, 0, 64));
}

TEST_F(SimMetalHazards, AFillAndADispatch) {
  const Blit fill = [&](id<MTLBlitCommandEncoder> e) { [e fillBuffer:loose range:NSMakeRange(0, 64) value:1]; };
  expect_to_need_a_fence(fill, read(loose, 0, 64));
  expect_to_need_a_fence(read(loose, 0, 64), fill);
}

TEST_F(SimMetalHazards, TheSourceOfACopyAndADispatch) {
  const Blit copy = [&](id<MTLBlitCommandEncoder> e) {
    [e copyFromBuffer:loose sourceOffset:0 toBuffer:a destinationOffset:0 size:64];
  };
  expect_to_need_a_fence(copy, write(loose, 0, 64));
  expect_to_need_a_fence(write(loose, 0, 64), copy);
}

TEST_F(SimMetalHazards, TheTargetOfACopyAndADispatch) {
  const Blit copy = [&](id<MTLBlitCommandEncoder> e) {
    [e copyFromBuffer:a sourceOffset:0 toBuffer:loose destinationOffset:0 size:64];
  };
  expect_to_need_a_fence(copy, read(loose, 0, 64));
  expect_to_need_a_fence(read(loose, 0, 64), copy);
}

TEST_F(SimMetalHazards, TwoBlitsOfTwoEncoders) {
  const Blit fill = [&](id<MTLBlitCommandEncoder> e) { [e fillBuffer:loose range:NSMakeRange(0, 64) value:1]; };
  const Blit copy = [&](id<MTLBlitCommandEncoder> e) {
    [e copyFromBuffer:loose sourceOffset:60 toBuffer:a destinationOffset:0 size:64];
  };
  expect_to_need_a_fence(fill, copy);
}

TEST_F(SimMetalHazards, TheCountsOfAnIndirectDispatch) {
  const Compute launch = [&](id<MTLComputeCommandEncoder> e) {
    const SetBytes none{0, 0, 0};
    [e setComputePipelineState:set];
    [e setBuffer:a offset:0 atIndex:0];
    [e setBytes:&none length:sizeof none atIndex:1];
    [e dispatchThreadgroupsWithIndirectBuffer:loose indirectBufferOffset:4 threadsPerThreadgroup:MTLSizeMake(1, 1, 1)];
  };
  expect_to_need_a_fence(write(loose, 15, 1), launch);
  expect_to_need_a_fence(launch, write(loose, 4, 1));
}

TEST_F(SimMetalHazards, EveryReaderOfUntrackedMemoryIsWaitedFor) {
  const auto go = [&](const std::vector<id<MTLFence>>& waited) {
    run([&](id<MTLCommandBuffer> commands) {
      for (size_t i = 0; i < 3; ++i) encode(commands, read(loose, 0, 64), {}, fences[i]);
      encode(commands, write(loose, 0, 64), waited, nil);
    });
  };
  go({fences[0], fences[1], fences[2]});
  expect_no_finding();
}

TEST_F(SimMetalHazards, AnyOfThreeReadersThatIsNotWaitedFor) {
  for (size_t missing = 0; missing < 3; ++missing) {
    id<MTLBuffer> fresh = buffer(64, MTLResourceHazardTrackingModeUntracked);
    run([&](id<MTLCommandBuffer> commands) {
      std::vector<id<MTLFence>> waited;
      for (size_t i = 0; i < 3; ++i) {
        encode(commands, read(fresh, 0, 64), {}, fences[i]);
        if (i != missing) waited.push_back(fences[i]);
      }
      encode(commands, write(fresh, 0, 64), waited, nil);
    });
    expect_finding("hazard");
  }
}

TEST_F(SimMetalHazards, AWriteThatWaitedForReadersStandsForThem) {
  run([&](id<MTLCommandBuffer> commands) {
    for (size_t i = 0; i < 2; ++i) encode(commands, read(loose, 0, 64), {}, fences[i]);
    encode(commands, write(loose, 0, 64), {fences[0], fences[1]}, fences[2]);
    encode(commands, write(loose, 0, 64), {fences[2]}, nil);
  });
  expect_no_finding();
}

// What others publish: fills in whole words, and words that keep the bytes beside the range.
TEST_F(SimMetalHazards, AFillInWordsOverwritesItsNeighboursOrRacesWithTheirFills) {
  const auto fill = [&](const char* kernel, const std::vector<uint32_t>& offsets) {
    auto words = pipeline(kernel);
    std::memset([a contents], 0xAA, 4);
    compute([&](id<MTLComputeCommandEncoder> e) {
      for (const uint32_t offset : offsets) set_bytes(e, words, a, {offset, 1, 0x55});
    });
    const auto* bytes = static_cast<const uint8_t*>([a contents]);
    return std::vector<uint32_t>(bytes, bytes + 4);
  };
  EXPECT_EQ(fill("fill_words", {1}), (std::vector<uint32_t>{0x55, 0x55, 0x55, 0x55}));
  EXPECT_EQ(fill("merge_words", {1}), (std::vector<uint32_t>{0xAA, 0x55, 0xAA, 0xAA}));
  EXPECT_EQ(fill("set_bytes", {1, 2}), (std::vector<uint32_t>{0xAA, 0x55, 0x55, 0xAA}));
  expect_no_finding();
  fill("merge_words", {1, 2});
  expect_finding("hazard");
}

TEST_F(SimMetalHazards, ASeedDecidesWhatMetalLeavesUnordered) {
  /// The last of two unordered writes, for each of 20 seeds.
  const auto last_of = [&](const Compute& encode) {
    std::vector<uint32_t> last;
    for (uint32_t seed = 1; seed <= 20; ++seed) {
      sim_metal::configure({.seed = seed});
      compute(encode);
      last.push_back(*static_cast<const uint32_t*>([a contents]));
    }
    sim_metal::take_findings();
    return last;
  };
  const auto race = [&](NSUInteger groups, NSUInteger threads) -> Compute {
    return [=, this, state = pipeline("race")](id<MTLComputeCommandEncoder> e) {
      [e setComputePipelineState:state];
      [e setBuffer:a offset:0 atIndex:0];
      [e dispatchThreadgroups:MTLSizeMake(groups, 1, 1) threadsPerThreadgroup:MTLSizeMake(threads, 1, 1)];
    };
  };
  const Compute dispatches = [&](id<MTLComputeCommandEncoder> e) {
    set_bytes(e, set, a, {0, 1, 0});
    set_bytes(e, set, a, {0, 1, 1});
  };
  for (const Compute& two : {dispatches, race(2, 1), race(1, 2)}) {
    const auto last = last_of(two);
    EXPECT_NE(std::ranges::count(last, 0U), 0);
    EXPECT_NE(std::ranges::count(last, 1U), 0);
    EXPECT_EQ(last_of(two), last) << "the same seed gives the same order";
  }
}
