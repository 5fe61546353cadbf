// SPDX-License-Identifier: Apache-2.0
// What a dispatch_data_t of the software Metal holds.
#pragma once
#include <dispatch/dispatch.h>

#include <string>

@interface SimDispatchData : NSObject <OS_dispatch_data> {
 @public
  std::string _bytes;
}
@end
