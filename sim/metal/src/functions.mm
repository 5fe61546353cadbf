// SPDX-License-Identifier: Apache-2.0
// Libraries, functions, pipelines and argument encoders.
#include <cstring>

#include "control.hpp"
#include "objects.h"

using sim_metal::report;
namespace msl = sim_metal::msl;

@interface SimMetalArgumentEncoder : SimMetalObject <MTLArgumentEncoder> {
 @public
  std::shared_ptr<msl::Library> _library;
  const msl::Parameter* _parameter;
  SimMetalBuffer* _target;
  NSUInteger _offset;
}
@end

@implementation SimMetalArgumentEncoder
- (void)dealloc {
  [_target release];
  [super dealloc];
}
- (NSUInteger)encodedLength {
  return (NSUInteger)_parameter->struct_size;
}
- (NSUInteger)alignment {
  return (NSUInteger)_parameter->struct_align;
}
- (void)setArgumentBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset {
  if (buffer == nil) return report("argument", "setArgumentBuffer: nil");
  if (offset % self.alignment != 0) {
    report("alignment", "setArgumentBuffer: offset %lu is not a multiple of %lu", offset, self.alignment);
  }
  if (!sim_metal::fits(offset, self.encodedLength, buffer.length)) {
    return report("bounds", "setArgumentBuffer: the encoded arguments do not fit in the buffer");
  }
  if (buffer.storageMode == MTLStorageModePrivate) {
    return report("storage", "setArgumentBuffer: the buffer is private");
  }
  [buffer retain];
  [_target release];
  _target = (SimMetalBuffer*)buffer;
  _offset = offset;
}
/// Where the argument with this index lies, or null: an array takes as many indices as it has elements.
- (uint8_t*)slot:(NSUInteger)index pointer:(bool)pointer {
  if (_target == nil) {
    report("argument", "an argument is set before setArgumentBuffer:offset:");
    return nullptr;
  }
  for (int i = 0; i < _parameter->member_count; ++i) {
    const msl::Member& member = _parameter->members[i];
    const long element = (long)index - member.id;
    if (element < 0 || element >= member.count || (member.is_pointer != 0) != pointer) continue;
    const auto step = static_cast<size_t>(member.size / member.count);
    return _target->_memory->base() + _offset + member.offset + step * static_cast<size_t>(element);
  }
  report("argument", "the argument buffer has no such argument at index %lu", index);
  return nullptr;
}
- (void)setBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset atIndex:(NSUInteger)index {
  uint8_t* slot = [self slot:index pointer:true];
  if (slot == nullptr) return;
  if (buffer != nil && offset >= buffer.length) {
    report("bounds", "argument buffer: offset %lu is past the end of the buffer", offset);
  }
  const uint64_t address = buffer != nil ? ((SimMetalBuffer*)buffer)->_memory->address() + offset : 0;
  std::memcpy(slot, &address, sizeof address);
}
- (void)setBuffers:(const id<MTLBuffer>[])buffers offsets:(const NSUInteger[])offsets withRange:(NSRange)range {
  for (NSUInteger i = 0; i < range.length; ++i) {
    [self setBuffer:buffers[i] offset:offsets[i] atIndex:range.location + i];
  }
}
- (void*)constantDataAtIndex:(NSUInteger)index {
  return [self slot:index pointer:false];
}
@end

@implementation SimMetalFunction
- (MTLFunctionType)functionType {
  return MTLFunctionTypeKernel;
}
- (NSString*)name {
  return [NSString stringWithUTF8String:_kernel->name];
}
- (id<MTLArgumentEncoder>)newArgumentEncoderWithBufferIndex:(NSUInteger)index {
  for (int i = 0; i < _kernel->parameter_count; ++i) {
    const msl::Parameter& parameter = _kernel->parameters[i];
    bool holds_pointers = false;
    for (int m = 0; m < parameter.member_count; ++m) holds_pointers |= parameter.members[m].is_pointer != 0;
    if (parameter.kind != msl::Parameter::buffer || parameter.index != (int)index || !holds_pointers) continue;
    if (sim_metal::shall_fail()) return nil;
    SimMetalArgumentEncoder* encoder = [SimMetalArgumentEncoder new];
    encoder->_library = _library;
    encoder->_parameter = &parameter;
    encoder->_device = _device;
    return encoder;
  }
  report("argument", "kernel '%s' has no argument buffer at index %lu", _kernel->name, index);
  return nil;
}
@end

@implementation SimMetalLibrary
- (NSArray*)functionNames {
  NSMutableArray* names = [NSMutableArray array];
  for (const auto* kernel : _library->kernels) [names addObject:[NSString stringWithUTF8String:kernel->name]];
  return names;
}
- (id<MTLFunction>)newFunctionWithName:(NSString*)name {
  if (sim_metal::shall_fail()) return nil;
  for (const auto* kernel : _library->kernels) {
    if (std::strcmp([name UTF8String], kernel -> name) != 0) continue;
    SimMetalFunction* function = [SimMetalFunction new];
    function->_library = _library;
    function->_kernel = kernel;
    function->_device = _device;
    return function;
  }
  return nil;
}
@end

@implementation SimMetalPipeline
- (NSUInteger)maxTotalThreadsPerThreadgroup {
  return _pipeline->max_threads;
}
- (NSUInteger)threadExecutionWidth {
  return 32;
}
- (NSUInteger)staticThreadgroupMemoryLength {
  return msl::static_threadgroup_bytes(*_pipeline->kernel);
}
@end
