#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/check-metal-selectors finds values, selectors, functions, structs and types that differ.
set -uo pipefail
cd "$(dirname "$0")/../.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
passed=0 failed=0

# expect RESULT NAME [FILE EXPRESSION]: compares with our headers, changed by sed.
expect() {
  rm -rf "$scratch/headers"
  cp -r sim/metal/include "$scratch/headers"
  if [ $# -gt 2 ]; then sed -i "$4" "$scratch/headers/Metal/$3"; fi
  local result=agree
  scripts/check-metal-selectors "$scratch/headers" >"$scratch/log" 2>&1 || result=differ
  if [ "$result" = "$1" ]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "$2: $result"; cat "$scratch/log"; fi
}

expect agree "the same headers"
expect differ "another value" MTLTypes.h 's/MTLStorageModePrivate = 2/MTLStorageModePrivate = 3/'
expect differ "a missing selector" Metal.h '/synchronizeResource/d'
expect differ "another type" Metal.h 's/property(readonly) NSUInteger length/property(readonly) NSString *length/'
expect differ "another scalar type" Metal.h 's/property(readonly) NSUInteger length/property(readonly) uint32_t length/'
expect differ "another type of an argument" Metal.h 's/value:(uint8_t)value/value:(uint16_t)value/'
expect differ "another pointer" Metal.h 's/(const void\*)bytes length:(NSUInteger)length atIndex/(void*)bytes length:(NSUInteger)length atIndex/'
expect differ "another result" Metal.h 's/(BOOL)supportsFamily/(int)supportsFamily/'
expect differ "a property that is not written any more" Metal.h 's/property(readwrite) uint64_t/property(readonly) uint64_t/'
expect differ "the first property behind members of an interface" Metal.h 's/property(copy, nonatomic) NSDictionary\* prepro/property(copy, nonatomic) NSString* prepro/'
expect differ "a statement of no known kind" Metal.h 's/^@property(readonly) NSUInteger length;/@what length;/'
expect differ "a protocol that is no other's any more" Metal.h 's/@protocol MTLSharedEvent <MTLEvent>/@protocol MTLSharedEvent <NSObject>/'
expect differ "a missing function" Metal.h '/MTLCopyAllDevices/d'
expect differ "another result of a function" Metal.h 's/NSArray\* MTLCopyAllDevices/NSUInteger MTLCopyAllDevices/'
expect differ "another signature of a block" Metal.h 's/(id<MTLSharedEvent>, uint64_t value)/(id<MTLSharedEvent>, uint32_t value)/'
expect differ "another result of a block" Metal.h 's/typedef void (^MTLCommandBufferHandler)/typedef BOOL (^MTLCommandBufferHandler)/'
expect differ "a missing constant" MTLTypes.h '/MTLLibraryErrorDomain/d'
expect differ "another member" MTLTypes.h 's/NSUInteger width, height, depth/NSUInteger width, depth, height/'
expect differ "a longer array" MTLTypes.h 's/threadgroupsPerGrid\[3\]/threadgroupsPerGrid[4]/'
expect differ "a narrower member" MTLTypes.h 's/  uint32_t threadgroupsPerGrid/  uint16_t threadgroupsPerGrid/'
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
