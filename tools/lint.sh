#!/usr/bin/env bash
# All checks that need no test run: layering, sizes, docs, kernel names, format, clang-tidy.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/check_layering.py
tools/check_sizes.py
tools/check_docs.py
tools/check_kernels.py
tools/check_executables.py
tools/format.sh --check
tools/tidy.sh --all
