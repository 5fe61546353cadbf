// SPDX-License-Identifier: Apache-2.0
// Libraries and pipeline states, made once for each kernel of a device.
#pragma once
#import <Metal/Metal.h>

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "backend/metal/ref.hpp"
#include "pianola/kernel_library.hpp"

namespace pianola::backend::metal {

/// A kernel ready to run.
struct Pipeline {
  Ref<id<MTLComputePipelineState>> state;
  Ref<id<MTLFunction>> function;
  MTLSize threads;                      ///< of a threadgroup
  NSUInteger dynamic_shared_bytes = 0;  ///< in multiples of 16
};

/// Thread-safe. Keeps the libraries it has seen, so that their address stays theirs.
class PipelineCache {
 public:
  explicit PipelineCache(id<MTLDevice> device) : device_(device) {}

  /// Errors, each naming the kernel: missing_kernel (no Metal code, or no such function in it), compile_failed (with
  /// the compiler's text), limit_exceeded (threads of a workgroup), out_of_memory.
  Result<std::shared_ptr<const Pipeline>> get(const KernelLibrary& library, uint32_t entry);

 private:
  struct Object {
    Ref<id<MTLLibrary>> library;
  };
  struct Loaded {
    KernelLibrary library;  ///< kept
    std::map<size_t, Object> objects;
    std::vector<std::shared_ptr<const Pipeline>> pipelines;
  };
  Result<id<MTLLibrary>> load(Loaded& loaded, size_t object, const std::string& kernel);
  Result<std::shared_ptr<const Pipeline>> make(Loaded& loaded, uint32_t entry);

  id<MTLDevice> device_;
  std::mutex mutex_;
  std::map<const KernelLibrary::Data*, Loaded> loaded_;
};

}  // namespace pianola::backend::metal
