// SPDX-License-Identifier: Apache-2.0
// The stand-in for libdispatch's data objects.
#include "dispatch.h"

#include "control.hpp"

@implementation SimDispatchData
- (void)dealloc {
  sim_metal::count_object(-1);
  [super dealloc];
}
@end

dispatch_data_t dispatch_data_create(const void* buffer, size_t size, dispatch_queue_t queue,
                                     dispatch_block_t destructor) {
  if (queue != nil || destructor != nil) sim_metal::report("dispatch", "only bytes that are copied are modelled");
  if (sim_metal::shall_fail()) return nil;
  SimDispatchData* data = [SimDispatchData new];
  sim_metal::count_object(1);
  const auto* bytes = static_cast<const char*>(buffer);
  data->_bytes.assign(bytes, bytes + size);
  return data;
}

void dispatch_release(NSObject* object) {
  [object release];
}
