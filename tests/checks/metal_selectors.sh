#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/check-metal-selectors finds a value, a selector and a type that differ.
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
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
