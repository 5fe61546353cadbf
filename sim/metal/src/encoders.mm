// SPDX-License-Identifier: Apache-2.0
// What encoders share, and the blit encoder with its alignment rules.
#include "control.hpp"
#include "objects.h"

using sim_metal::Command;
using sim_metal::report;
using sim_metal::Use;

@implementation SimMetalEncoder
- (void)dealloc {
  if (!_ended) report("encoder", "a command encoder is released without endEncoding");
  [_parent release];
  [super dealloc];
}
- (bool)isOpen:(const char*)what {
  if (_ended) report("encoder", "%s after endEncoding", what);
  return !_ended && !_null;
}
- (Use)use:(id<MTLResource>)resource read:(bool)read write:(bool)write {
  const auto& memory = ((SimMetalBuffer*)resource)->_memory;
  Use use(memory, _parent->_buffer->retained);
  use.read = read;
  use.write = write;
  return use;
}
- (Command&)add:(Command::Kind)kind {
  auto& command = _parent->_buffer->commands.emplace_back();
  command.kind = kind;
  command.encoder = _encoder;
  command.index = _index++;
  return command;
}
- (void)endEncoding {
  if (_ended) return report("encoder", "endEncoding twice");
  _ended = true;
  if (_groups != 0) report("encoder", "endEncoding with %d debug groups open", _groups);
  if (_parent->_open == self) _parent->_open = nil;
  if (_null) return;
  if (_index == 0) {
    sim_metal::with_counts([](sim_metal::Counts& c, uint64_t) { ++c.empty_encoders; }, 0);
    report("encoder", "an encoder without commands");
  }
}
- (void)insertDebugSignpost:(NSString*)text {
  sim_metal::note_label(std::string("signpost ") + [text UTF8String]);
}
- (void)pushDebugGroup:(NSString*)text {
  if (![self isOpen:"pushDebugGroup:"]) return;
  ++_groups;
  sim_metal::note_label(std::string("push ") + [text UTF8String]);
}
- (void)popDebugGroup {
  if (![self isOpen:"popDebugGroup"]) return;
  if (_groups == 0) return report("encoder", "popDebugGroup without pushDebugGroup:");
  --_groups;
  sim_metal::note_label("pop");
}
- (void)updateFence:(id<MTLFence>)fence {
  if (![self isOpen:"updateFence:"]) return;
  if (fence == nil) return report("fence", "updateFence: nil");
  sim_metal::with_counts([](sim_metal::Counts& c, uint64_t) { ++c.fences; }, 0);
  [self add:Command::Kind::update_fence].fence = {((SimMetalFence*)fence)->_fence, _parent->_buffer->retained};
}
- (void)waitForFence:(id<MTLFence>)fence {
  if (![self isOpen:"waitForFence:"]) return;
  if (fence == nil) return report("fence", "waitForFence: nil");
  if (_index != static_cast<int>(_encoder->waits)) report("fence", "waitForFence: after other commands");
  ++_encoder->waits;
  sim_metal::with_counts([](sim_metal::Counts& c, uint64_t) { ++c.fences; }, 0);
  [self add:Command::Kind::wait_fence].fence = {((SimMetalFence*)fence)->_fence, _parent->_buffer->retained};
}
@end

namespace {

/// What offsets and sizes of blit commands must be multiples of.
NSUInteger blit_alignment() {
  return sim_metal::settings().alignment == sim_metal::AlignmentRule::mac ? 4 : 1;
}

}  // namespace

@implementation SimMetalBlitEncoder
- (void)fillBuffer:(id<MTLBuffer>)buffer range:(NSRange)range value:(uint8_t)value {
  if (![self isOpen:"fillBuffer:range:value:"]) return;
  if (buffer == nil) return report("blit", "fillBuffer: nil buffer");
  if (range.length == 0) return report("blit", "fillBuffer: empty range");
  const NSUInteger unit = blit_alignment();
  if (range.location % unit != 0 || range.length % unit != 0) {
    return report("alignment", "fillBuffer: range {%lu, %lu} is not a multiple of %lu", range.location, range.length,
                  unit);
  }
  if (!sim_metal::fits(range.location, range.length, buffer.length)) {
    return report("bounds", "fillBuffer: range {%lu, %lu} ends past length %lu", range.location, range.length,
                  buffer.length);
  }
  sim_metal::with_counts([](sim_metal::Counts& c, uint64_t) { ++c.fills; }, 0);
  Command& command = [self add:Command::Kind::fill];
  command.a = [self use:buffer read:false write:true];
  command.a_offset = range.location;
  command.size = range.length;
  command.value = value;
}
- (void)copyFromBuffer:(id<MTLBuffer>)source
          sourceOffset:(NSUInteger)sourceOffset
              toBuffer:(id<MTLBuffer>)destination
     destinationOffset:(NSUInteger)destinationOffset
                  size:(NSUInteger)size {
  if (![self isOpen:"copyFromBuffer:"]) return;
  if (source == nil || destination == nil) return report("blit", "copyFromBuffer: nil buffer");
  if (size == 0) return report("blit", "copyFromBuffer: zero size");
  const NSUInteger unit = blit_alignment();
  if (sourceOffset % unit != 0 || destinationOffset % unit != 0 || size % unit != 0) {
    return report("alignment", "copyFromBuffer: offsets %lu, %lu and size %lu must be multiples of %lu", sourceOffset,
                  destinationOffset, size, unit);
  }
  if (!sim_metal::fits(sourceOffset, size, source.length) ||
      !sim_metal::fits(destinationOffset, size, destination.length)) {
    return report("bounds", "copyFromBuffer: a range ends past its buffer");
  }
  if (source == destination && sourceOffset < destinationOffset + size && destinationOffset < sourceOffset + size) {
    return report("blit", "copyFromBuffer: the ranges overlap");
  }
  sim_metal::with_counts([](sim_metal::Counts& c, uint64_t) { ++c.copies; }, 0);
  Command& command = [self add:Command::Kind::copy];
  command.a = [self use:source read:true write:false];
  command.b = [self use:destination read:false write:true];
  command.a_offset = sourceOffset;
  command.b_offset = destinationOffset;
  command.size = size;
}
- (void)synchronizeResource:(id<MTLResource>)resource {
  if (![self isOpen:"synchronizeResource:"]) return;
  if (resource.storageMode != MTLStorageModeManaged) {
    report("storage", "synchronizeResource: the resource is not managed");
  }
}
@end
