#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the bundle and checks the devices that it finds, with lists that run once.
# usage: bundle.sh SOURCE_DIR BUILD_DIR SCRATCH_DIR
set -euo pipefail
source=$1 build=$2 scratch=$3
bundle=$scratch/bundle
mkdir -p "$scratch"
fail() { echo "bundle.sh: $1" >&2; exit 1; }

"$source/scripts/bundle" "$bundle" "$build"
"$bundle/check" --no-bench --modes first --out "$scratch/report"
grep -Eq '^conformance cpu first: [1-9][0-9]* passed, 0 failed,.* exit 0' "$scratch/report/report.txt" ||
  fail "the CPU was not checked"

printf '#!/bin/sh\necho "[]"\n' >"$bundle/bin/pianola"
if message=$("$bundle/check" --no-bench --modes first --out "$scratch/report" 2>&1 >/dev/null); then
  fail "a check without devices succeeds"
fi
[ "$message" = "check: no device found" ] || fail "a check without devices says: $message"
