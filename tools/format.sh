#!/usr/bin/env bash
# Formats all sources in place; with --check only tells what is not formatted.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=build/venv-lint/bin
if [ ! -x $bin/clang-format ]; then
  (source tools/steps.sh && make_venv lint tools/requirements-lint.txt) >/dev/null
fi
list() { git ls-files --cached --others --exclude-standard -- "$@"; }
if [ "${1:-}" = --check ]; then
  list '*.cc' '*.h' | xargs -r $bin/clang-format --dry-run --Werror
  list '*.py' | xargs -r $bin/ruff format --check --quiet
  list '*.py' | xargs -r $bin/ruff check --quiet
  list '*CMakeLists.txt' '*.cmake' | xargs -r $bin/gersemi --no-warn-about-unknown-commands --check
else
  list '*.cc' '*.h' | xargs -r $bin/clang-format -i
  list '*.py' | xargs -r $bin/ruff format --quiet
  list '*.py' | xargs -r $bin/ruff check --fix --quiet
  list '*CMakeLists.txt' '*.cmake' | xargs -r $bin/gersemi --no-warn-about-unknown-commands -i
fi
