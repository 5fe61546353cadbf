#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds every kernel of the tree for every target, then hands what came out to the targets' own tools.
# usage: targets.sh PIANOLA WORK_DIR build|spirv|ptx|hsaco    (build comes first)
#        targets.sh MSL_TO_CPP WORK_DIR msl
# Ends with 77, and says why, where a tool that nobody can install freely is missing.
set -uo pipefail
program=$1 work=$2 step=$3
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/scripts/lib.sh"
passed=0 failed=0

# try NAME COMMAND...: one case; its output is shown if it fails.
try() {
  local name=$1 output
  shift
  if output=$("$@" 2>&1 </dev/null); then passed=$((passed + 1)); return; fi
  failed=$((failed + 1))
  printf 'FAILED: %s\n%s\n' "$name" "$output"
}

# objects EXTENSION TARGET: the extracted files of that target.
objects() { find "$work" -name "*.$2.$1" | sort; }

build() {
  local cache=${XDG_CACHE_HOME:-${HOME:-$work}/.cache}/pianola/kernels source library
  rm -rf "$work"
  mkdir -p "$work"
  while read -r source; do
    library=$work/$(tr / _ <<<"${source%.k}")
    try "$source for all targets" "$program" kernel build "$root/$source" -o "$library.pkl" --target all \
      --cache "$cache" -I "$root/include"
    try "$source: the files of all targets agree" "$program" kernel check "$library.pkl"
    try "$source: files" "$program" kernel extract "$library.pkl" -o "$library"
  done < <(source_files "$root" '*.k')
}

check_spirv() {
  local file
  for file in $(objects spv 'vulkan1.1'); do
    try "${file#"$work"/}" spirv-val --target-env vulkan1.1 "$file"
    # Its result is not C++'s, and with negative numbers not defined in Vulkan.
    try "${file#"$work"/} has no OpSMod" bash -c 'text=$(spirv-dis "$1") && ! grep OpSMod <<<"$text"' dis "$file"
  done
}

check_ptx() {
  local assembler known file arch
  assembler=$(PATH=$PATH:/usr/local/cuda/bin command -v ptxas) || { echo "skipped: no ptxas of a CUDA toolkit"; exit 77; }
  known=$("$assembler" --help)
  # Each text for its own architecture and for later ones, as far as this toolkit knows them (13 begins at sm_75).
  for arch in sm_70 sm_75 sm_90 sm_120; do
    [[ $known == *"'$arch'"* ]] || continue
    for file in $(objects ptx sm_70) $([ "${arch#sm_}" -lt 90 ] || objects ptx sm_90); do
      try "${file#"$work"/} for $arch" "$assembler" --gpu-name "$arch" -o /dev/null "$file"
    done
  done
}

# The notes were compared by `kernel check`; here, that each code object is for its architecture, in version 4.
check_hsaco() {
  local arch file
  for arch in gfx90a gfx942 gfx1030 gfx1100; do
    for file in $(objects hsaco "$arch"); do
      try "${file#"$work"/} names amdgcn-amd-amdhsa--$arch" grep -aq "amdgcn-amd-amdhsa--$arch" "$file"
      # ELF header: ABI 64 is HSA's, its version 2 is code object version 4.
      try "${file#"$work"/} is of version 4" test "$(od -An -tu1 -j7 -N2 "$file" | tr -s ' ')" = ' 64 2'
    done
  done
}

check_msl() {
  local folder=$root/sim/metal/msl file
  mkdir -p "$work/msl"
  : >"$work/msl/metal_stdlib"  # empty: clang's own pass over the text comes after its translation
  for file in $(objects metal msl); do
    try "${file#"$work"/}" bash -o pipefail -c '
      clang-19 -E -x c++ -undef -nostdinc -I "$1" -D__METAL_VERSION__=300 "$2" | "$3" |
        clang-19 -x c++ -std=c++17 -nostdinc -nostdinc++ -I "$4" -include metal_stdlib \
          -DSIM_METAL_ADDRESS_SPACES -fsyntax-only -Wall -Werror -Wno-unused -Wno-unknown-pragmas -Wno-unknown-attributes -' \
      msl "$work/msl" "$file" "$program" "$folder"
  done
}

case $step in
  build) build ;;
  spirv) check_spirv ;;
  ptx) check_ptx ;;
  hsaco) check_hsaco ;;
  msl) check_msl ;;
  *) echo "targets.sh: unknown step $step" >&2; exit 2 ;;
esac
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
