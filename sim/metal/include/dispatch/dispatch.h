// SPDX-License-Identifier: Apache-2.0
// As much of Apple's libdispatch as hands bytes to Metal.
#pragma once
#import <Foundation/Foundation.h>

@protocol OS_dispatch_data <NSObject>
@end
typedef NSObject<OS_dispatch_data>* dispatch_data_t;
typedef NSObject* dispatch_queue_t;
typedef void (^dispatch_block_t)(void);

/// The bytes are copied.
#define DISPATCH_DATA_DESTRUCTOR_DEFAULT nullptr

#ifdef __cplusplus
extern "C" {
#endif
dispatch_data_t dispatch_data_create(const void* buffer, size_t size, dispatch_queue_t queue,
                                     dispatch_block_t destructor);
void dispatch_release(NSObject* object);
#ifdef __cplusplus
}
#endif
