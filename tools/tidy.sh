#!/usr/bin/env bash
# clang-tidy on the C++ files changed since WHINCHAT_BASE (default: the commit before),
# within a time budget; what did not fit is named, never silently left out. --all: every file.
set -euo pipefail
cd "$(dirname "$0")/.."
budget_seconds=${WHINCHAT_TIDY_SECONDS:-300}
tidy=build/venv-lint/bin/clang-tidy
if [ ! -x $tidy ]; then
  (source tools/steps.sh && make_venv lint tools/requirements-lint.txt) >/dev/null
fi
cmake --preset release >/dev/null

if [ "${1:-}" = --all ]; then
  budget_seconds=86400
  files=$(git ls-files 'src/*.cc')
else
  base=${WHINCHAT_BASE:-HEAD~1}
  files=$(git diff --name-only --diff-filter=d "$base" -- 'src/*.cc')
fi
# Files of another architecture are not in the compilation database.
files=$(for file in $files; do
  if grep -qF "/$file\"" build/release/compile_commands.json; then echo "$file"; fi
done)
if [ -z "$files" ]; then echo "clang-tidy: no changed files"; exit 0; fi

# g++'s own warning flags are unknown to clang.
export tidy deadline=$(($(date +%s) + budget_seconds))
check() {
  if [ "$(date +%s)" -gt "$deadline" ]; then echo "not reached in time: $1"; return 0; fi
  "$tidy" --quiet -p build/release --extra-arg=-Wno-unknown-warning-option "$1" 2>/dev/null
}
export -f check
echo "$files" | xargs -P "$(nproc)" -I{} bash -c 'check "$1"' _ {}
echo "clang-tidy: $(echo "$files" | wc -l) files"
