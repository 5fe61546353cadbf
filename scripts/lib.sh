# SPDX-License-Identifier: Apache-2.0
# What the scripts share; sourced, never run.

# repository: the folder this checkout stands in.
repository() { (cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd); }

# source_files ROOT PATTERN...: files that belong to the project, relative to ROOT, sorted.
source_files() {
  local root=$1
  shift
  if git -C "$root" rev-parse --git-dir >/dev/null 2>&1; then
    git -C "$root" ls-files --cached --others --exclude-standard -- "$@" |
      while read -r file; do if [ -f "$root/$file" ]; then echo "$file"; fi; done
  else
    local pattern
    for pattern in "$@"; do
      (cd "$root" && find . -path ./build -prune -o -type f -name "${pattern##*/}" -print) | sed 's|^\./||'
    done
  fi | sort -u
}

# findings NAME HINT: prints what stands on standard input; returns 1 if that is anything.
findings() {
  local text
  text=$(cat)
  if [ -z "$text" ]; then return 0; fi
  printf '%s\n' "$text"
  printf 'check-%s: %s\n' "$1" "$2" >&2
  return 1
}

# jobs: how many compilers to run at once.
jobs_here() { nproc 2>/dev/null || echo 2; }
