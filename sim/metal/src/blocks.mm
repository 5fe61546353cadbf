// SPDX-License-Identifier: Apache-2.0
// A blocks runtime for gcc's Objective-C runtime: the packaged one neither retains what blocks capture nor lets a
// block be sent -copy, and completion handlers need both. Layouts follow clang's Block-ABI-Apple document.
#import <Foundation/Foundation.h>

#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace {

enum : int { ref_mask = 0xffff, needs_free = 1 << 24, has_copy_dispose = 1 << 25, is_global = 1 << 28 };
enum : int { field_block = 7, field_byref = 8, byref_caller = 128 };

struct Descriptor {
  unsigned long reserved, size;
  void (*copy)(void*, const void*);
  void (*dispose)(const void*);
};
struct Layout {
  void* isa;
  int flags;
  int reserved;
  void (*invoke)(void*, ...);
  Descriptor* descriptor;
};
struct Byref {
  void* isa;
  Byref* forwarding;
  int flags;
  unsigned size;
  void (*keep)(void*, const void*);
  void (*dispose)(const void*);
};

int add_reference(int& flags, int by) {
  return __atomic_add_fetch(&flags, by, __ATOMIC_ACQ_REL) & ref_mask;
}

/// A __block variable moves to the heap with the first block that is copied.
Byref* copy_byref(Byref* from) {
  if ((from->flags & needs_free) != 0) {
    add_reference(from->flags, 1);
    return from;
  }
  auto* to = static_cast<Byref*>(malloc(from->size));
  memcpy(static_cast<void*>(to), from, from->size);
  to->flags = (from->flags & ~ref_mask) | needs_free | 2;  // one for the heap block, one for the stack frame
  to->forwarding = to;
  from->forwarding = to;
  if ((to->flags & has_copy_dispose) != 0) to->keep(to, from);
  return to;
}
void release_byref(Byref* byref) {
  if ((byref->flags & needs_free) == 0 || add_reference(byref->flags, -1) != 0) return;
  if ((byref->flags & has_copy_dispose) != 0) byref->dispose(byref);
  free(byref);
}

}  // namespace

extern "C" {
__attribute__((visibility("default"))) void* _NSConcreteStackBlock[32];
__attribute__((visibility("default"))) void* _NSConcreteMallocBlock[32];
__attribute__((visibility("default"))) void* _NSConcreteGlobalBlock[32];

void* _Block_copy(const void* argument) {
  auto* block = static_cast<Layout*>(const_cast<void*>(argument));
  if (block == nullptr || (block->flags & is_global) != 0) return block;
  if ((block->flags & needs_free) != 0) {
    add_reference(block->flags, 1);
    return block;
  }
  auto* copy = static_cast<Layout*>(malloc(block->descriptor->size));
  memcpy(static_cast<void*>(copy), block, block->descriptor->size);
  copy->flags = (block->flags & ~ref_mask) | needs_free | 1;
  copy->isa = _NSConcreteMallocBlock;
  if ((copy->flags & has_copy_dispose) != 0) copy->descriptor->copy(copy, block);
  return copy;
}

void _Block_release(const void* argument) {
  auto* block = static_cast<Layout*>(const_cast<void*>(argument));
  if (block == nullptr || (block->flags & needs_free) == 0 || add_reference(block->flags, -1) != 0) return;
  if ((block->flags & has_copy_dispose) != 0) block->descriptor->dispose(block);
  free(block);
}

void _Block_object_assign(void* to, const void* object, int kind) {
  auto* const target = static_cast<const void**>(to);
  if ((kind & byref_caller) != 0) {
    *target = object;  // a __block variable does not retain its object without ARC
  } else if ((kind & field_byref) != 0) {
    *target = copy_byref(static_cast<const Byref*>(object)->forwarding);
  } else if ((kind & field_block) == field_block) {
    *target = _Block_copy(object);
  } else {
    *target = (const void*)[(id)object retain];
  }
}

void _Block_object_dispose(const void* object, int kind) {
  if ((kind & byref_caller) != 0) return;
  if ((kind & field_byref) != 0) return release_byref(static_cast<const Byref*>(object)->forwarding);
  if ((kind & field_block) == field_block) return _Block_release(object);
  [(id)object release];
}
}

// Blocks as objects: each isa placeholder receives a bitwise copy of this class (13 words in libobjc 4), which
// shares its dispatch table, so that -copy, -retain, -release and -autorelease work on any block.
@interface SimMetalBlock : NSObject
@end
@implementation SimMetalBlock
+ (void)load {
  Class self_class = [SimMetalBlock self];
  [self_class instancesRespondToSelector:@selector(copy)];  // makes the dispatch table
  for (void** isa : {&_NSConcreteStackBlock[0], &_NSConcreteMallocBlock[0], &_NSConcreteGlobalBlock[0]}) {
    memcpy(static_cast<void*>(isa), (const void*)self_class, 13 * sizeof(void*));
  }
}
- (id)copy {
  return (id)_Block_copy(self);
}
- (id)copyWithZone:(NSZone*)zone {
  (void)zone;
  return (id)_Block_copy(self);
}
- (id)retain {
  return (id)_Block_copy(self);
}
- (oneway void)release {
  _Block_release(self);
}
- (NSUInteger)retainCount {
  return 1;
}
- (void)dealloc {
  return;
  [super dealloc];
}
@end
