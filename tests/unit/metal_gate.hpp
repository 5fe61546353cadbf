// SPDX-License-Identifier: Apache-2.0
// Holds the work of a Metal queue back, once it is committed and before it runs.
#pragma once
#import <Metal/Metal.h>

#include "pianola/device.hpp"
#include "pianola/interop/metal.hpp"

namespace pianola::metal_test {

/// What is committed to the queue from now on waits for open().
class Gate {
 public:
  Gate(const Device& device, const Queue& queue)
      : event_([(id<MTLDevice>)interop::metal::native_device(device) newSharedEvent]) {
    @autoreleasepool {
      id<MTLCommandBuffer> commands = [(id<MTLCommandQueue>)interop::metal::native_queue(queue) commandBuffer];
      [commands encodeWaitForEvent:event_ value:1];
      [commands commit];
    }
  }
  ~Gate() {
    open();
    [event_ release];
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  void open() { event_.signaledValue = 1; }

 private:
  id<MTLSharedEvent> event_;
};

}  // namespace pianola::metal_test
