#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The README's first C++ block is main.cpp without its comment lines at the top; its kernel is saxpy.k's.
# usage: same-as-readme.sh README.md
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
block() { awk -v n="$2" '/^```/ { if (inside) { inside = 0 } else if (/^```cpp/ && ++seen == n) { inside = 1 } next } inside' "$1"; }
diff <(block "$1" 1) <(sed 1d "$here/saxpy.k") || { echo "README's kernel differs from saxpy.k"; exit 1; }
diff <(block "$1" 2) <(sed 1,2d "$here/main.cpp") || { echo "README's program differs from main.cpp"; exit 1; }
