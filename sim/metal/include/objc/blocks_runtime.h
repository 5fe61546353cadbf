// SPDX-License-Identifier: Apache-2.0
// GNUstep's headers include this file, which comes only with another Objective-C runtime.
#pragma once
#include <Block.h>
