#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds and runs the consumer project on a library made available in one of three ways.
# usage: consume.sh static|shared|subdirectory SOURCE_DIR BUILD_DIR SCRATCH_DIR CXX CUDA     CUDA: 1 if the build has it
set -euo pipefail
kind=$1 source=$2 build=$3 scratch=$4 cxx=$5 cuda=$6
here=$(cd "$(dirname "$0")" && pwd)
rm -rf "$scratch/prefix" "$scratch/consumer" "$scratch/packer" "$scratch/path"
mkdir -p "$scratch"

settings=(-G Ninja "-DCMAKE_CXX_COMPILER=$cxx" -DCMAKE_BUILD_TYPE=Release
          "-DPIANOLA_CUDA=$cuda")
quietly() { "$@" >"$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }; }

case $kind in
  static)
    quietly cmake --install "$build" --prefix "$scratch/prefix"
    settings+=("-DCMAKE_PREFIX_PATH=$scratch/prefix") ;;
  shared)
    # Beside the other build folders, so that the compiler cache sees the same relative paths.
    library=$build-shared
    quietly cmake -S "$source" -B "$library" "${settings[@]}" -DBUILD_SHARED_LIBS=ON -DPIANOLA_BUILD_TOOLS=OFF \
      -DPIANOLA_BUILD_TESTS=OFF -DPIANOLA_BUILD_EXAMPLES=OFF -DPIANOLA_BUILD_BENCH=OFF
    quietly cmake --build "$library" -j 2
    quietly cmake --install "$library" --prefix "$scratch/prefix"
    settings+=("-DCMAKE_PREFIX_PATH=$scratch/prefix") ;;
  subdirectory) settings+=("-DPIANOLA_SOURCE_DIR=$source" -DCMAKE_BUILD_TYPE=Debug) ;;  # compiles fastest
  *) echo "consume.sh: unknown kind $kind" >&2; exit 2 ;;
esac
quietly cmake -S "$here/consumer" -B "$scratch/consumer" "${settings[@]}"
quietly cmake --build "$scratch/consumer" -j 2
"$scratch/consumer/consumer"

# Who only packs needs no kernel compiler: none is found in this PATH.
if [ "$kind" = static ]; then
  mkdir -p "$scratch/path"
  for tool in sh cmake ninja as ld; do ln -sf "$(command -v "$tool")" "$scratch/path/$tool"; done
  quietly cmake -S "$here/consumer" -B "$scratch/packer" "${settings[@]}" -DCONSUMER_BUILDS_KERNELS=OFF
  quietly env PATH="$scratch/path" cmake --build "$scratch/packer" -j 2
  if PATH=$scratch/path command -v clang-19 glslangValidator; then echo "a kernel compiler was there" >&2; exit 1; fi
  "$scratch/packer/consumer"
fi
