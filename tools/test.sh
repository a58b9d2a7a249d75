#!/usr/bin/env bash
# `make test`: everything a change must pass, in at most 25 minutes on two cores from a clean
# checkout. The long tests are in tools/test_full.sh.
set -euo pipefail
source "$(dirname "$0")/steps.sh"

check_sources() {
  tools/check_layering.py
  tools/check_sizes.py
  tools/check_docs.py
  tools/check_kernels.py
  tools/check_executables.py
}

# Tiny models on each lower ISA; the kernels' own tests cover every ISA in one run already.
test_each_isa() {
  local isa
  for isa in $(available_isas); do
    echo "-- WHINCHAT_ISA=$isa"
    WHINCHAT_ISA=$isa GTEST_FILTER='-*SmolLm2*:Tiny/*' \
      ctest --preset release -R '^model$' --quiet
  done
}

# The README's first command as a new user has it: no model here but the one it gets.
test_first_run() {
  local home=$root/build/first-run answer
  rm -rf "$home"
  answer=$(XDG_DATA_HOME=$home/data XDG_CACHE_HOME=$home/cache HF_HOME=$home/hub \
    MODELSCOPE_CACHE=$home/hub make run PROMPT="What is the capital of France?")
  echo "$answer"
  rm -rf "$home"
  grep -q Paris <<<"$answer"
}

test_asan() {
  GTEST_FILTER='-*SmolLm2*' ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1 \
    ctest --preset asan --parallel "$jobs"
}

test_server() {
  make_venv clients python/clients/requirements.txt
  build/venv-clients/bin/python -m pytest -q tests/server
}

step "sources: layering, sizes, docs, kernel names" check_sources
step "lint tools" make_venv lint tools/requirements-lint.txt
step "format" tools/format.sh --check
step "test models" python3 tools/fetch_test_models.py
step "make run answers" test_first_run
step "release build" configure_and_build release
step "kernel objects" tools/check_kernels.py --objects build/release
step "unit tests, release" ctest --preset release --parallel 1
step "tiny models on each ISA" test_each_isa
step "server and clients" test_server
step "asan and ubsan build" configure_and_build asan
step "unit tests, asan and ubsan" test_asan
step "clang-tidy on changed files" tools/tidy.sh
