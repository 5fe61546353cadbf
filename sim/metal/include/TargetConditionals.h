// SPDX-License-Identifier: Apache-2.0
// Stands for Apple's header: code that asks is told that it runs on a Mac.
#pragma once
#define TARGET_OS_MAC 1
#define TARGET_OS_OSX 1
#define TARGET_OS_IPHONE 0
#define TARGET_OS_SIMULATOR 0
