#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Plants one violation at a time in an otherwise clean tree: each check must find it and name its file.
# usage: planted.sh SCRIPTS_DIR
set -uo pipefail
scripts=$1
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failed=0 passed=0
licence='// SPDX-License-Identifier: Apache-2.0'

clean_tree() {
  rm -rf "$tree"
  mkdir -p "$tree"/{include/pianola/interop,src/{base,record,plan,format,backend/{cuda,cpu,null}},tools,bench,tests/conformance}
  cp "$scripts/../.clang-format" "$tree/"
  printf '%s\n#pragma once\nint one();\n' "$licence" >"$tree/include/pianola/one.hpp"
  printf '%s\n#include "base/a.hpp"\n\n#include <cuda.h>\n' "$licence" >"$tree/src/backend/cuda/device.cpp"
  printf '%s\n#pragma once\n' "$licence" >"$tree/src/base/a.hpp"
  printf '%s\n#include "pianola/one.hpp"\n' "$licence" >"$tree/tools/main.cpp"
  git -C "$tree" init -q
}

# expect_clean CHECK: the tree passes.
expect_clean() {
  clean_tree
  report "$1 accepts a clean tree" "$("$scripts/check-$1" "${@:2}" "$tree" 2>&1)" $? ""
}

# plant CHECK FILE TEXT: the check fails and names FILE.
plant() {
  clean_tree
  mkdir -p "$(dirname "$tree/$2")"
  printf '%s\n' "$3" >"$tree/$2"
  report "$1 finds $2" "$("$scripts/check-$1" "${@:4}" "$tree" 2>&1)" $? "$2"
}

# report CLAIM OUTPUT STATUS WANTED_FILE
report() {
  local claim=$1 output=$2 status=$3 wanted=$4
  if [ -z "$wanted" ] && [ "$status" -eq 0 ]; then passed=$((passed + 1)); return; fi
  if [ -n "$wanted" ] && [ "$status" -ne 0 ] && grep -qF "$wanted" <<<"$output"; then passed=$((passed + 1)); return; fi
  failed=$((failed + 1))
  printf 'FAILED: %s (status %s)\n%s\n' "$claim" "$status" "$output"
}

# code LINE...: a source with the licence line.
code() { printf '%s\n' "$licence" "$@"; }
long_function() { code 'int f(int a,' '      int b) {'; for _ in $(seq "$1"); do echo '  a += b;'; done; echo '}'; }
long_file() { code; for i in $(seq "$1"); do echo "int v$i;"; done; }

for check in spdx sizes includes words format; do expect_clean $check; done

clean_tree
long_function 57 >"$tree/src/base/function.cpp"
long_file 399 >"$tree/src/base/long.cpp"
report "sizes accepts 60 and 400 lines" "$("$scripts/check-sizes" "$tree" 2>&1)" $? ""

plant spdx src/base/b.cpp 'int x;'
plant spdx scripts/run "$(printf '#!/bin/sh\necho')"
plant sizes src/base/long.cpp "$(long_file 400)"
plant sizes include/pianola/long.hpp "$(long_file 300)"
plant sizes src/base/function.cpp "$(long_function 58)"
plant includes src/base/up.cpp "$(code '#include "record/commands.hpp"')"
plant includes src/record/up.cpp "$(code '#include "plan/plan_data.hpp"')"
plant includes src/format/side.cpp "$(code '#include "plan/plan_data.hpp"')"
plant includes src/plan/up.cpp "$(code '#include "backend/backend.hpp"')"
plant includes src/backend/up.cpp "$(code '#include "api/bindings.hpp"')"
plant includes src/backend/cpu/sibling.cpp "$(code '#include "backend/null/device.hpp"')"
plant includes src/base/vendor.cpp "$(code '#include <cuda.h>')"
plant includes include/pianola/vendor.hpp "$(code '#include <hip/hip_runtime.h>')"
plant includes include/pianola/inside.hpp "$(code '#include "base/a.hpp"')"
plant includes tools/inside.cpp "$(code '#include "base/a.hpp"')"
plant includes bench/inside.cpp "$(code '#include "plan/plan_data.hpp"')"
plant includes tests/conformance/inside.cpp "$(code '#include "backend/backend.hpp"')"
plant includes src/stray/a.cpp "$(code '#include "base/a.hpp"')"
plant includes src/base/dots.cpp "$(code '#include "../base/a.hpp"')"
plant words docs/path.md "see /""home/somebody/file"
plant words src/base/mark.cpp "$(code "// TO""DO: later")"
plant format src/base/format.cpp "$(code 'int   x ;')"
if command -v g++ >/dev/null; then
  clean_tree
  report "headers accepts a clean tree" "$("$scripts/check-headers" g++ "$tree" 2>&1)" $? ""
  printf '%s\n#pragma once\nstd::string name();\n' "$licence" >"$tree/include/pianola/needs.hpp"
  report "headers finds a header that needs another" "$("$scripts/check-headers" g++ "$tree" 2>&1)" $? include/pianola/needs.hpp
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
