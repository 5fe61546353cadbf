// SPDX-License-Identifier: Apache-2.0
// Buffers, events, fences and the small descriptor classes.
#include <Block.h>

#include "control.hpp"
#include "objects.h"

using sim_metal::report;

NSString* const MTLCommandBufferErrorDomain = @"MTLCommandBufferErrorDomain";
NSString* const MTLLibraryErrorDomain = @"MTLLibraryErrorDomain";

NSError* sim_metal_error(NSString* domain, NSInteger code, const std::string& text) {
  NSString* description = [NSString stringWithUTF8String:text.c_str()];
  return [NSError errorWithDomain:domain
                             code:code
                         userInfo:[NSDictionary dictionaryWithObject:description forKey:NSLocalizedDescriptionKey]];
}

@implementation SimMetalObject
@synthesize label = _label;
- (id)init {
  if ((self = [super init])) sim_metal::count_object(1);
  return self;
}
- (id<MTLDevice>)device {
  return _device;
}
- (void)dealloc {
  sim_metal::count_object(-1);
  [_label release];
  [super dealloc];
}
@end

@implementation MTLCommandBufferDescriptor
@synthesize retainedReferences = _retainedReferences;
@synthesize errorOptions = _errorOptions;
- (id)init {
  if ((self = [super init])) _retainedReferences = YES;
  return self;
}
@end

@implementation MTLCompileOptions
@synthesize preprocessorMacros = _preprocessorMacros;
@synthesize fastMathEnabled = _fastMathEnabled;
@synthesize languageVersion = _languageVersion;
- (void)dealloc {
  [_preprocessorMacros release];
  [super dealloc];
}
@end

@implementation MTLSharedEventListener
@end

@implementation SimMetalBuffer
- (NSUInteger)length {
  return _memory->length();
}
- (NSUInteger)allocatedSize {
  return _memory->length();
}
- (uint64_t)gpuAddress {
  return sim_metal::settings().gpu_addresses ? _memory->gpu_address() : 0;
}
- (MTLStorageMode)storageMode {
  return (MTLStorageMode)((_options >> 4) & 15);
}
- (MTLHazardTrackingMode)hazardTrackingMode {
  return _memory->untracked ? MTLHazardTrackingModeUntracked : MTLHazardTrackingModeTracked;
}
- (MTLResourceOptions)resourceOptions {
  return _options;
}
- (void*)contents {
  if ([self storageMode] != MTLStorageModePrivate) return _memory->base();
  report("storage", "contents of a private buffer");
  return nullptr;
}
- (void)didModifyRange:(NSRange)range {
  if ([self storageMode] != MTLStorageModeManaged) report("storage", "didModifyRange: on a buffer that is not managed");
  if (!sim_metal::fits(range.location, range.length, _memory->length()))
    report("bounds", "didModifyRange: past the end of the buffer");
}
- (void)setLabel:(NSString*)label {
  _memory->label = label ? [label UTF8String] : "";
  [super setLabel:label];
}
@end

@implementation SimMetalEvent
- (uint64_t)signaledValue {
  return _event->value();
}
- (void)setSignaledValue:(uint64_t)value {
  if (value < _event->value()) report("event", "setSignaledValue: %lu below the present value", (unsigned long)value);
  _event->signal(value, sim_metal::host_clock());
}
- (void)notifyListener:(MTLSharedEventListener*)listener
               atValue:(uint64_t)value
                 block:(MTLSharedEventNotificationBlock)block {
  if (listener == nil) return report("event", "notifyListener: nil listener");
  MTLSharedEventNotificationBlock copy = Block_copy(block);
  SimMetalEvent* event = [self retain];
  _event->when_reached(value, [event, copy](uint64_t now) {
    @autoreleasepool {
      (void)event->_event->value();  // which the host has been told of
      copy(event, now);
    }
    Block_release(copy);
    [event release];
  });
}
@end

@implementation SimMetalFence
@end
