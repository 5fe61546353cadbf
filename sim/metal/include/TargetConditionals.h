// SPDX-License-Identifier: Apache-2.0
// Stands for Apple's header: code that asks is told that it runs on a Mac, or on a phone if SIM_METAL_IOS is set.
#pragma once
#define TARGET_OS_MAC 1
#ifdef SIM_METAL_IOS
#define TARGET_OS_OSX 0
#define TARGET_OS_IPHONE 1
#else
#define TARGET_OS_OSX 1
#define TARGET_OS_IPHONE 0
#endif
#define TARGET_OS_SIMULATOR 0
