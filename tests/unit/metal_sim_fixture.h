// SPDX-License-Identifier: Apache-2.0
// A device, a queue and a few kernels of the software Metal for its own tests.
#pragma once
#import <Metal/Metal.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "sim_metal.hpp"

class SimMetal : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  id<MTLBuffer> buffer(NSUInteger size, MTLResourceOptions options = MTLResourceStorageModeShared);
  id<MTLComputePipelineState> pipeline(const char* name);
  id<MTLArgumentEncoder> argument_encoder(const char* name, NSUInteger index);

  /// Encodes a command buffer, commits it, waits; gives its error code, 0 if there is none.
  using Encode = std::function<void(id<MTLCommandBuffer>)>;
  NSInteger run(const Encode& encode);
  /// The same with one compute or blit encoder.
  NSInteger compute(const std::function<void(id<MTLComputeCommandEncoder>)>& encode,
                    MTLDispatchType type = MTLDispatchTypeConcurrent);
  NSInteger blit(const std::function<void(id<MTLBlitCommandEncoder>)>& encode);

  /// Expects findings of this rule and no other; takes them all.
  static void expect_finding(const char* rule);
  static void expect_no_finding();

  id<MTLDevice> device = nil;
  id<MTLCommandQueue> queue = nil;
  id<MTLLibrary> library = nil;

 private:
  std::vector<id> owned_;
  long live_before_ = 0;
};

/// Writes one byte to each of `count` bytes from `offset` on: kernel set_bytes.
struct SetBytes {
  uint32_t offset, count, value;
};
void set_bytes(id<MTLComputeCommandEncoder> encoder, id<MTLComputePipelineState> pipeline, id<MTLBuffer> buffer,
               SetBytes what);
/// Reads those bytes into another buffer: kernel get_bytes.
void get_bytes(id<MTLComputeCommandEncoder> encoder, id<MTLComputePipelineState> pipeline, id<MTLBuffer> from,
               id<MTLBuffer> to, SetBytes what);
