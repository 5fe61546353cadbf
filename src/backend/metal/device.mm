// SPDX-License-Identifier: Apache-2.0
#include "backend/metal/device.hpp"

#include <TargetConditionals.h>

#include <algorithm>

#include "backend/metal/convert.hpp"
#include "backend/metal/entry.hpp"
#include "base/guarded.hpp"

namespace pianola::backend::metal {
namespace {

constexpr size_t queue_total = 2;

/// Unmeasured: encoder changes are dear on every Metal device, and a blit moves bytes a little faster than a kernel.
DeviceProfile make_profile(bool concurrent) {
  DeviceProfile profile;
  profile.name = "Metal";
  profile.form = PlanForm::waves;
  profile.fill_native = {1.0, 8.0};
  profile.fill_kernel = {1.5, 10.0};
  profile.copy_native = {1.0, 12.0};
  profile.copy_kernel = {1.5, 15.0};
  profile.update_native = profile.copy_native;
  profile.update_kernel = profile.copy_kernel;
  profile.dispatch = {2.0, 0.0};
  profile.sync_us = concurrent ? 1.0 : 0.0;
  profile.kind_switch_us = 10.0;
  return profile;
}

DeviceLimits make_limits(id<MTLDevice> device) {
  DeviceLimits limits;
  const MTLSize threads = [device maxThreadsPerThreadgroup];
  limits.max_workgroup = {static_cast<uint32_t>(threads.width), static_cast<uint32_t>(threads.height),
                          static_cast<uint32_t>(threads.depth)};
  limits.max_workgroup_threads = limits.max_workgroup[0];
  // Metal states no limit; positions of threads in the grid are 32 bits wide.
  const uint32_t groups = UINT32_MAX / limits.max_workgroup_threads;
  limits.max_groups = {groups, groups, groups};
  limits.max_shared_bytes = static_cast<uint32_t>([device maxThreadgroupMemoryLength]);
  limits.max_dynamic_shared_bytes = limits.max_shared_bytes;
  limits.dispatch_alignment = 0;
  limits.max_buffer_size = [device maxBufferLength];
  limits.native_indirect = true;
  limits.unified_memory = [device hasUnifiedMemory];
  return limits;
}

NSArray* all_devices() {
#if TARGET_OS_OSX
  return MTLCopyAllDevices();
#else
  id<MTLDevice> device = [MTLCreateSystemDefaultDevice() autorelease];
  return device == nil ? [NSArray new] : [[NSArray alloc] initWithObjects:device, nil];
#endif
}

}  // namespace

Result<uint32_t> count(const DeviceOptions& /*options*/) {
  @autoreleasepool {
    NSArray* devices = [all_devices() autorelease];
    if ([devices count] == 0) return Error{.code = Errc::no_device, .message = "this machine has no Metal device"};
    return static_cast<uint32_t>([devices count]);
  }
}

Result<std::unique_ptr<Device>> open(uint32_t index, const DeviceOptions& /*options*/) {
  return guarded([&] { return MetalDevice::open(index); });
}

Result<std::unique_ptr<Device>> MetalDevice::open(uint32_t index) {
  @autoreleasepool {
    NSArray* devices = [all_devices() autorelease];
    if (index >= [devices count]) {
      return Error{.code = Errc::no_device, .message = "this machine has no Metal device of that number"};
    }
    auto native = Ref<id<MTLDevice>>::retained((id<MTLDevice>)[devices objectAtIndex:index]);
    std::unique_ptr<MetalDevice> device(new MetalDevice(std::move(native)));
    device->transfer_queue_ = Ref<id<MTLCommandQueue>>([device->native() newCommandQueue]);
    if (!device->transfer_queue_) return call_error(Errc::out_of_memory, "newCommandQueue", "no command queue", nil);
    const MTLResourceOptions untracked = MTLResourceStorageModeShared | MTLResourceHazardTrackingModeUntracked;
    device->nothing_ = Ref<id<MTLBuffer>>([device->native() newBufferWithLength:nothing_bytes options:untracked]);
    if (!device->nothing_) return call_error(Errc::out_of_memory, "newBufferWithLength", "no buffer", nil);
    for (size_t i = 0; i < queue_total; ++i) {
      auto queue = MetalQueue::make(device->native(), device->loss_);
      if (!queue) return queue.error();
      device->queues_.push_back(std::move(*queue));
    }
    return std::unique_ptr<Device>(std::move(device));
  }
}

MetalDevice::MetalDevice(Ref<id<MTLDevice>> device)
    : device_(std::move(device)),
      name_(to_string([device_.get() name])),
      limits_(make_limits(device_.get())),
      pipelines_(device_.get()) {
  // Concurrent encoders gave wrong results on discrete AMD GPUs, so those run dispatches one after another.
  target_.concurrent = [device_.get() hasUnifiedMemory];
  target_.blit_alignment = [device_.get() supportsFamily:MTLGPUFamilyApple1] ? 1 : 4;
  target_.profile = make_profile(target_.concurrent);
  // The tier alone does not tell: virtual GPUs of hosted Macs name the second, and end the program at the first
  // encoder.
  has_argument_buffers_ = [device_.get() argumentBuffersSupport] == MTLArgumentBuffersTier2 &&
                          [device_.get() supportsFamily:MTLGPUFamilyMetal3];
}

Result<std::shared_ptr<Executable>> MetalDevice::make_executable(const Plan& plan, const InstantiateOptions& options,
                                                                 const std::shared_ptr<const Bindings>& /*defaults*/) {
  if (auto is_there = loss_.check(); !is_there) return is_there.error();
  return guarded([&] { return MetalExecutable::make(*this, plan, options.check_indirect); });
}

}  // namespace pianola::backend::metal
