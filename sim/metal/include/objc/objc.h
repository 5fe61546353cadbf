// SPDX-License-Identifier: Apache-2.0
// Apple's nil converts to every pointer type (NSError**, blocks); gcc's is (id)0, which in C++ does not.
#pragma once
#include_next <objc/objc.h>
#undef nil
#undef Nil
#ifdef __cplusplus
#define nil nullptr
#define Nil nullptr
#else
#define nil ((void*)0)
#define Nil ((void*)0)
#endif
