#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a target adds to the build of a kernel, and how large its code is: rows of the table in docs/benchmarks.md.
# Times are processor seconds, which other work on the machine changes little: medians of three builds with the target
# less those without it, taken in turn, one compiler at a time and nothing kept.
# usage: bench/kernel_build.sh PIANOLA [SOURCE.k...]    default: the examples with one kernel each
set -euo pipefail
pianola=$(realpath "$1")
shift
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- examples/kernels/{saxpy,convolution,histogram,matrix,reduction}.k
targets=(x86-64-v3 x86-64-v4 aarch64 sm_70 sm_90 gfx90a gfx942 gfx1030 gfx1100 vulkan1.1 msl)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
TIMEFORMAT='%U %S'

# build SOURCE TARGET...: processor seconds of one build.
build() {
  local source=$1 seconds
  shift
  seconds=$({ time "$pianola" kernel build "$source" -o "$work/x.pkl" --jobs 1 "${@/#/--target=}"; } 2>&1)
  awk '{print $1 + $2}' <<<"$seconds"
}

# median: of the numbers on standard input.
median() { sort -n | awk '{n[NR] = $1} END {print n[int((NR + 1) / 2)]}'; }

for source in "$@"; do
  name=$(basename "$source" .k)
  : >"$work/alone"
  for target in "${targets[@]}"; do : >"$work/$target"; done
  for _ in 1 2 3; do
    alone=$(build "$source" x86-64)
    echo "$alone" >>"$work/alone"
    for target in "${targets[@]}"; do
      build "$source" x86-64 "$target" | awk -v alone="$alone" '{print $1 - alone}' >>"$work/$target"
    done
  done
  "$pianola" kernel build "$source" -o "$work/all.pkl" --target all
  rm -rf "$work/files"
  "$pianola" kernel extract "$work/all.pkl" -o "$work/files" >/dev/null
  printf '| %s, s | %.2f |' "$name" "$(median <"$work/alone")"
  for target in "${targets[@]}"; do printf ' %.2f |' "$(median <"$work/$target")"; done
  printf '\n| %s, bytes |' "$name"
  for target in x86-64 "${targets[@]}"; do printf ' %d |' "$(cat "$work"/files/*."$target".* | wc -c)"; done
  printf '\n'
done
