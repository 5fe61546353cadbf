#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the tool: exit codes, messages, and output for people and for machines.
# usage: tool_test.sh PIANOLA KERNELC HAS_METAL [SOFTWARE_DRIVER]    HAS_METAL: 1 if the build has it, else 0
set -uo pipefail
pianola=$1 kernelc=$2 has_metal=$3 driver=${4:-}
passed=0 failed=0

# run CLAIM STATUS PATTERN ARGUMENT...: the exit status, and a pattern that both outputs together must match.
run() {
  local claim=$1 wanted=$2 pattern=$3 output status
  shift 3
  output=$("$pianola" "$@" 2>&1 </dev/null)
  status=$?
  if [ "$status" -eq "$wanted" ] && grep -Eq -- "$pattern" <<<"$output"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf 'FAILED: %s: status %s, wanted %s and /%s/\n%s\n' "$claim" "$status" "$wanted" "$pattern" "$output"
  fi
}

# is_json CLAIM ARGUMENT...: standard output is JSON, as CMake's own reader sees it.
is_json() {
  local claim=$1 file
  shift
  file=$(mktemp)
  "$pianola" "$@" >"$file" 2>/dev/null </dev/null
  printf 'file(READ "%s" text)\nstring(JSON count LENGTH "${text}")\n' "$file" >"$file.cmake"
  if cmake -P "$file.cmake" >/dev/null 2>&1; then passed=$((passed + 1)); else
    failed=$((failed + 1))
    printf 'FAILED: %s is no JSON:\n%s\n' "$claim" "$(cat "$file")"
  fi
  rm -f "$file" "$file.cmake"
}

# claim CLAIM COMMAND...: the command succeeds.
claim() {
  local claim=$1
  shift
  if "$@"; then passed=$((passed + 1)); else
    failed=$((failed + 1))
    echo "FAILED: $claim"
  fi
}

run "version is printed" 0 '^[0-9]+\.[0-9]+\.[0-9]+$' --version
run "help documents the exit status" 0 'Exit status: 0 success' --help
run "help of bench names the lists" 0 'fill-barrier' bench --help
for command in '' devices bench show 'show plan' kernel 'kernel build' 'kernel pack' 'kernel show' 'kernel extract' \
  'kernel check'; do
  # shellcheck disable=SC2086
  text=$("$pianola" $command --help | tr -d '[:print:][:space:]' | od -c)
  claim "help of '$command' has printable characters only: $text" [ "$text" = 0000000 ]
done
run "help names the choices" 0 'barriers,inferred,serial' show plan --help
run "a form that does not exist is wrong usage" 2 'stripes not in \{lanes,waves\}' show plan decode --form stripes
run "an order that does not exist is wrong usage" 2 'barriers,inferred,serial' show plan decode --ordering random
run "no command is wrong usage" 2 'subcommand is required' 
run "an unknown command is wrong usage" 2 '.' frobnicate
run "an unknown option is wrong usage" 2 '.' devices --frobnicate
run "devices names the CPU" 0 '^cpu +yes' devices
is_json "devices --json" devices --json
if [ -w /dev/full ]; then
  for arguments in devices 'devices --json' 'show plan decode' --help; do
    # shellcheck disable=SC2086
    message=$("$pianola" $arguments 2>&1 >/dev/full)
    status=$?
    message=$(grep -v '^==.*==WARNING: .* external symbolizer!$' <<<"$message")  # of a sanitizer, where none fits
    claim "output that cannot be written is a failure: $arguments: $status, $message" \
      [ "$status $message" = "1 pianola: io: cannot write standard output" ]
  done
fi
run "an unknown backend is an error" 1 'invalid_argument.*nonesuch' bench --device nonesuch --quick
run "a device that is not there has its own status" 3 'no_device' bench --device cpu:99 --quick
run "a backend that no build here has is a device that is not there" 3 'no_device.*this build has no vulkan' \
  bench --device vulkan:0 --quick
run "an unknown list is wrong usage" 2 'nonesuch' show plan nonesuch
for list in diamond fill-barrier independent decode upscale; do
  for form in lanes waves; do
    run "$list is planned as $form" 0 . show plan "$list" --form "$form"
  done
  run "$list has a dot file" 0 '^digraph' show plan "$list" --graphviz
  is_json "show plan $list --json" show plan "$list" --json
done
run "upscale keeps two branches apart" 0 '"lanes": 2' show plan upscale --json --lanes 2
run "one lane has no edges" 0 '"edges": 0' show plan upscale --json --lanes 1
run "fills of one range do not run side by side" 0 '"lanes": 1' show plan fill-barrier --json --no-merge
run "serial order is one lane" 0 '"lanes": 1' show plan independent --json --ordering serial
run "independent chains need no edges" 0 '"edges": 0' show plan independent --json --lanes 8
run "33 lanes are wrong usage" 2 '33' show plan upscale --lanes 33
run "a dot file and JSON exclude each other" 2 'excludes' show plan upscale --json --graphviz
run "the default profile needs no device" 0 . show plan diamond
run "a device's profile can be asked for" 0 . show plan diamond --device cpu
# Where the build has Metal, what becomes of a plan there.
if [ "$has_metal" = 1 ]; then
  run "devices names Metal" 0 '^metal +yes' devices
  run "show plan for Metal counts encoders" 0 '^metal: 1 command buffers, 1 encoders, 0 switches, [0-9]+ barriers' show plan upscale --device metal
  run "show plan for Metal lists each encoder" 0 '^encoder 0: compute, .* dispatches' show plan decode --device metal
fi
run "bench prints a row a list" 0 '^decode +[0-9]+ +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+$' bench decode --device cpu --quick
is_json "bench --json" bench fill-barrier --device cpu --quick --json
run "a native form needs a device" 2 'needs --device' show plan decode --native
run "the CPU has a native form" 0 . show plan decode --native --device cpu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# At once: measuring every list takes more than four seconds.
SECONDS=0
run "a device that cannot time commands says so" 1 'unsupported: --trace.*time' \
  bench --device cpu --trace "$scratch/trace"
claim "a device that cannot time commands is not measured first" [ $SECONDS -lt 4 ]
if [ -n "$driver" ]; then
  run "a driver's own picture of the graph is printed" 0 '^digraph' \
    show plan decode --native --device cuda:0 --driver "$driver"
  run "a driver's device is measured" 0 '^diamond ' \
    bench diamond --quick --device cuda:0 --driver "$driver" --trace "$scratch/trace"
  claim "a trace has a row a lane" grep -q '"tid": 1' "$scratch/trace"
fi
printf '%s\n' '#include <pianola/kernel.h>' 'KERNEL(one, 64, 1, 1, OUT(uint, x))' 'PHASE' 'x[GID_X] = 1u;' 'END_PHASE' \
  'END_KERNEL' >"$scratch/one.k"
printf '%s\n' '#include <pianola/kernel.h>' 'KERNEL(bad, 64, 1, 1, OUT(uint, x))' 'PHASE' 'x[GID_X] = nonesuch;' \
  'END_PHASE' 'END_KERNEL' >"$scratch/bad.k"
cp "$scratch/one.k" "$scratch/copy.k"
run "a kernel library is built" 0 '' kernel build "$scratch/one.k" -o "$scratch/one.pkl"
# What is no regular file stays what it is, and gets the bytes.
mkfifo "$scratch/pipe"
timeout 60 cat "$scratch/pipe" >"$scratch/piped.pkl" &
run "a kernel library is built into a pipe" 0 '' kernel build "$scratch/one.k" --name one -o "$scratch/pipe"
wait $!
claim "a pipe stays a pipe" [ -p "$scratch/pipe" ]
claim "a pipe passes the library on" cmp -s "$scratch/one.pkl" "$scratch/piped.pkl"
mkdir "$scratch/elsewhere"
for target in old new; do
  if [ $target = old ]; then echo old >"$scratch/elsewhere/old"; fi
  ln -s elsewhere/$target "$scratch/link"
  run "a kernel library is built into the file that a link names" 0 '' \
    kernel build "$scratch/one.k" --name one -o "$scratch/link"
  claim "a link stays a link, $target file" [ -L "$scratch/link" ]
  claim "what a link names is the library, $target file" cmp -s "$scratch/one.pkl" "$scratch/elsewhere/$target"
  rm "$scratch/link"
done
head -c 1000 "$scratch/one.pkl" >"$scratch/cut.pkl"
{ head -c 8 "$scratch/one.pkl" && printf '\115' && tail -c +10 "$scratch/one.pkl"; } >"$scratch/new.pkl"
run "a library's kernels are shown" 0 'one' kernel show "$scratch/one.pkl"
is_json "kernel show --json" kernel show "$scratch/one.pkl" --json
run "a library agrees with its objects" 0 '' kernel check "$scratch/one.pkl"
run "a source that does not compile is an error with its place" 1 'bad.k.*nonesuch' \
  kernel build "$scratch/bad.k" -o "$scratch/bad.pkl"
run "a target that does not exist is wrong usage" 2 'nonesuch' \
  kernel build "$scratch/one.k" -o "$scratch/x.pkl" --target nonesuch
run "a source that is not there is wrong usage" 2 'missing.k' kernel build "$scratch/missing.k" -o "$scratch/x.pkl"
run "a file that is no library is an error" 1 'corrupt' kernel show "$scratch/one.k"
run "two kernels of one name are named with both files" 1 "copy.k: kernel 'one' exists already, in .*one.k" \
  kernel build "$scratch/one.k" "$scratch/copy.k" -o "$scratch/x.pkl"
run "a compiler that is not there is named with file and target" 1 'one.k for x86-64: .*no-such-clang' \
  kernel build "$scratch/one.k" -o "$scratch/x.pkl" --clang no-such-clang
run "a library that is cut short is named" 1 'corrupt.*cut.pkl: .*1000 bytes, its header says' kernel show "$scratch/cut.pkl"
run "a library of a newer version is named with both versions" 1 'version.*new.pkl: .*version 77 .* reads up to' \
  kernel check "$scratch/new.pkl"
run "a library for several targets" 0 '' kernel build "$scratch/one.k" -o "$scratch/both.pkl" --target ptx
run "its files" 0 'ptx' kernel extract "$scratch/both.pkl" -o "$scratch/files"
pack() {
  printf '{"kernels": [{"name": "one", "workgroup": [64], "arguments": [{"buffer": "x"}]}], "objects": [%s]}' "$1" \
    >"$scratch/manifest.json"
}
pack '{"file": "files/0.sm_70.ptx", "format": "ptx", "arch": "sm_70"}'
run "files are packed" 0 '' kernel pack "$scratch/manifest.json" -o "$scratch/packed.pkl"
pack '{"file": "files/0.sm_70.ptx", "format": "ptx", "arch": "sm_70", "symbols": {"one": "two"}}'
run "an entry that a file lacks is named with file, kernel and target" 1 \
  "files/0.sm_70.ptx: kernel 'one', ptx for sm_70: the file has no 'two'" \
  kernel pack "$scratch/manifest.json" -o "$scratch/x.pkl"
pack '{"file": "one.k", "format": "hsaco", "arch": "gfx90a"}'
run "a file that is no object is named" 1 'corrupt.*manifest.json: one.k: ' kernel pack "$scratch/manifest.json" -o "$scratch/x.pkl"
# What is read is never written over, by whatever name; nothing is compiled before that is known.
ln -s one.k "$scratch/also.k"
mkdir "$scratch/bare"
printf '%s\n' '#define NUMBER 1u' >"$scratch/number.h"
sed 's/^#include.*/&\n#include "number.h"/; s/= 1u/= NUMBER/' "$scratch/one.k" >"$scratch/two.k"
cp -r "$scratch/files" "$scratch/kept"
cp "$scratch"/*.k "$scratch"/*.h "$scratch/kept"
pack '{"file": "files/0.sm_70.ptx", "format": "ptx", "arch": "sm_70"}'
cp "$scratch/manifest.json" "$scratch/kept"
for arguments in '-o one.k' '-o ./bare/../one.k' '-o also.k' '-o x.pkl --depfile one.k' '-o x.pkl --depfile also.k'; do
  # shellcheck disable=SC2086
  (cd "$scratch" && "$pianola" kernel build one.k $arguments --clang no-such-clang) >"$scratch/said" 2>&1
  claim "a source is not written over: $arguments: $(cat "$scratch/said")" \
    grep -q 'invalid_argument: .* would be written over .*one.k' "$scratch/said"
done
run "the library is not written over its own rule" 1 'x.pkl would be written over .*x.pkl' \
  kernel build "$scratch/one.k" -o "$scratch/x.pkl" --depfile "$scratch/bare/../x.pkl" --clang no-such-clang
run "a header is not written over" 1 'number.h would be written over .*number.h' \
  kernel build "$scratch/two.k" -o "$scratch/number.h"
run "a folder that is not there is named before anything is compiled" 1 'io: .*/nowhere: cannot write .*/nowhere/x.pkl' \
  kernel build "$scratch/one.k" -o "$scratch/nowhere/x.pkl" --clang no-such-clang
run "a folder is no library" 1 'io: .*/bare is a folder' \
  kernel build "$scratch/one.k" -o "$scratch/bare" --clang no-such-clang
run "a manifest is not written over" 1 'manifest.json would be written over' \
  kernel pack "$scratch/manifest.json" -o "$scratch/manifest.json"
run "a packed file is not written over" 1 '0.sm_70.ptx would be written over' \
  kernel pack "$scratch/manifest.json" -o "$scratch/files/0.sm_70.ptx"
for file in one.k two.k number.h manifest.json; do
  claim "$file is what it was" cmp "$scratch/$file" "$scratch/kept/$file"
done
claim "packed files are what they were" cmp "$scratch/files/0.sm_70.ptx" "$scratch/kept/0.sm_70.ptx"
# A folder where a file belongs.
pack '{"file": "bare", "format": "ptx", "arch": "sm_70"}'
run "a folder is no packed file" 1 'io: .*bare: cannot read: Is a directory' \
  kernel pack "$scratch/manifest.json" -o "$scratch/x.pkl"
run "a folder is no manifest" 1 'io: .*bare: cannot read: Is a directory' kernel pack "$scratch/bare" -o "$scratch/x.pkl"
run "a folder is no library to show" 1 'io: .*bare: .*: Is a directory' kernel show "$scratch/bare"
said=$("$kernelc" --pack "$scratch/bare" -o "$scratch/x.pkl" 2>&1)
claim "the build's own packer says so too: $said" [ "$said" = "pianola-kernelc: io: $scratch/bare: cannot read: Is a directory" ]
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
