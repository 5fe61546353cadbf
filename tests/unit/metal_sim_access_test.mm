// SPDX-License-Identifier: Apache-2.0
// The software Metal: what one dispatch needs and what its kernel touches.
#include "metal_sim_fixture.h"

namespace {

class SimMetalAccess : public SimMetal {
 protected:
  void SetUp() override {
    SimMetal::SetUp();
    a = buffer(64);
    out = buffer(1024);
  }
  /// How read_at shall touch which byte.
  enum How : uint32_t { load, store, load_constant, store_shared, load_packed, store_vector };
  NSInteger read_at(How how, uint32_t at) {
    return compute([&](id<MTLComputeCommandEncoder> e) {
      const uint32_t what[2] = {how, at};
      const std::vector<char> bytes(64);
      [e setComputePipelineState:pipeline("read_at")];
      [e setBuffer:a offset:0 atIndex:0];
      [e setBytes:bytes.data() length:bytes.size() atIndex:1];
      [e setBytes:what length:sizeof what atIndex:2];
      [e setBuffer:out offset:0 atIndex:3];
      [e setThreadgroupMemoryLength:64 atIndex:0];
      [e dispatchThreadgroups:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(1, 1, 1)];
    });
  }
  void expect_fault(How how, uint32_t at, const char* rule) {
    EXPECT_EQ(read_at(how, at), MTLCommandBufferErrorPageFault);
    expect_finding(rule);
  }
  /// A dispatch of tile_and_more, which has 1024 bytes of its own.
  void share(NSUInteger bytes) {
    compute([&](id<MTLComputeCommandEncoder> e) {
      [e setComputePipelineState:pipeline("tile_and_more")];
      [e setBuffer:out offset:0 atIndex:0];
      if (bytes != 0) [e setThreadgroupMemoryLength:bytes atIndex:2];
      [e dispatchThreadgroups:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(4, 1, 1)];
    });
  }
  void dispatch_with(const char* kernel, const std::function<void(id<MTLComputeCommandEncoder>)>& bind) {
    compute([&](id<MTLComputeCommandEncoder> e) {
      [e setComputePipelineState:pipeline(kernel)];
      bind(e);
      [e dispatchThreadgroups:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(1, 1, 1)];
    });
  }

  id<MTLBuffer> a = nil, out = nil;
};

}  // namespace

TEST_F(SimMetalAccess, WhatIsAlignedAndWithinItsMemoryIsFine) {
  for (const How how : {load, store, load_constant, store_shared}) EXPECT_EQ(read_at(how, 60), 0);
  EXPECT_EQ(read_at(load_packed, 52), 0);
  EXPECT_EQ(read_at(store_vector, 48), 0);
  expect_no_finding();
}

TEST_F(SimMetalAccess, MisalignedAccessesOfBuffers) {
  expect_fault(load, 2, "alignment");
  expect_fault(store, 1, "alignment");
  expect_fault(load_packed, 2, "alignment");
  expect_fault(store_vector, 8, "alignment");
}

TEST_F(SimMetalAccess, MisalignedAccessesOfWhatSetBytesHolds) {
  expect_fault(load_constant, 2, "alignment");
}

TEST_F(SimMetalAccess, MisalignedAccessesOfThreadgroupMemory) {
  expect_fault(store_shared, 2, "alignment");
}

TEST_F(SimMetalAccess, AccessesPastTheEnd) {
  expect_fault(load, 64, "bounds");
  expect_fault(store, 64, "bounds");
  expect_fault(load_constant, 1 << 20, "page fault");
}

TEST_F(SimMetalAccess, AnAddressThatIsNoBuffer) {
  id<MTLBuffer> arguments = buffer(16);  // null pointers
  compute([&](id<MTLComputeCommandEncoder> e) {
    const uint32_t n = 1;
    [e setComputePipelineState:pipeline("add_pair")];
    [e setBuffer:arguments offset:0 atIndex:0];
    [e setBytes:&n length:sizeof n atIndex:3];
    [e dispatchThreadgroups:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(1, 1, 1)];
  });
  expect_finding("page fault");
}

TEST_F(SimMetalAccess, ABufferThatIsNotBoundWhereItsTypeMayLie) {
  dispatch_with("race", [&](id<MTLComputeCommandEncoder> e) { [e setBuffer:a offset:2 atIndex:0]; });
  expect_finding("alignment");
}

TEST_F(SimMetalAccess, AParameterWithoutABinding) {
  dispatch_with("race", [](id<MTLComputeCommandEncoder> e) { (void)e; });
  expect_finding("binding");
}

TEST_F(SimMetalAccess, AStructThatIsLargerThanItsBytes) {
  dispatch_with("set_bytes", [&](id<MTLComputeCommandEncoder> e) {
    const SetBytes what{0, 1, 1};
    [e setBuffer:a offset:0 atIndex:0];
    [e setBytes:&what length:8 atIndex:1];
  });
  expect_finding("binding");
}

TEST_F(SimMetalAccess, AStructThatIsLargerThanTheRestOfItsBuffer) {
  dispatch_with("set_bytes", [&](id<MTLComputeCommandEncoder> e) {
    [e setBuffer:out offset:0 atIndex:0];
    [e setBuffer:a offset:56 atIndex:1];
  });
  expect_finding("binding");
}

TEST_F(SimMetalAccess, APointersTargetThatIsLargerThanTheRestOfItsBuffer) {
  id<MTLBuffer> few = buffer(8);
  dispatch_with("reduce", [&](id<MTLComputeCommandEncoder> e) {
    [e setBuffer:few offset:0 atIndex:0];  // of 16 bytes each
    [e setBuffer:out offset:0 atIndex:1];
  });
  expect_finding("binding");
}

TEST_F(SimMetalAccess, ThreadgroupMemoryOfNoLength) {
  share(0);
  expect_finding("binding");
}

TEST_F(SimMetalAccess, ThreadgroupMemoryUpToTheDevicesLimit) {
  EXPECT_EQ(pipeline("tile_and_more").staticThreadgroupMemoryLength, 1024U);
  EXPECT_EQ(pipeline("race").staticThreadgroupMemoryLength, 0U);
  share(32768 - 1024);
  expect_no_finding();
  share(32768 - 1024 + 16);
  expect_finding("compute");
}

TEST_F(SimMetalAccess, APipelineStateNeedsTheDevicesThreadgroupMemory) {
  sim_metal::configure({.max_threadgroup_memory = 1024});
  EXPECT_NE(pipeline("tile_and_more"), nil);
  sim_metal::configure({.max_threadgroup_memory = 1008});
  EXPECT_EQ(pipeline("tile_and_more"), nil);
}

TEST_F(SimMetalAccess, ThreadgroupsOverTheDevicesLimitInOneDimension) {
  sim_metal::configure({.max_threadgroup = {64, 32, 16}});
  const auto go = [&](MTLSize threads) {
    compute([&](id<MTLComputeCommandEncoder> e) {
      set_bytes(e, pipeline("set_bytes"), a, {0, 4, 1});
      [e dispatchThreadgroups:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:threads];
    });
  };
  for (const MTLSize threads : {MTLSizeMake(65, 1, 1), MTLSizeMake(1, 33, 1), MTLSizeMake(1, 1, 17)}) {
    go(threads);
    expect_finding("compute");
  }
}
