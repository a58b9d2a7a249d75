#!/usr/bin/env bash
# `make test-full [SLICE...]`: the long tests, in slices that can run alone. All of them must pass
# before a piece of work is called done; continuous integration runs one of them in turn.
set -euo pipefail
source "$(dirname "$0")/steps.sh"
all_slices=(tsan aarch64 fuzz faults)

slice_tsan() {
  configure_and_build tsan
  GTEST_FILTER='-*SmolLm2*' TSAN_OPTIONS=halt_on_error=1 \
    ctest --preset tsan -R '^(base|engine|kv_cache|model|pipeline)$'
}

slice_aarch64() {
  configure_and_build aarch64
  ctest --preset aarch64
}

# Disks, memory, files and processes that fail under the running program.
slice_faults() {
  configure_and_build release
  make_venv clients python/clients/requirements.txt
  build/venv-clients/bin/python -m pytest -q -rs tests/faults
}

slice_fuzz() { tools/fuzz.sh "${FUZZ_SECONDS:-60}"; }

slices=("$@")
if [ ${#slices[@]} = 0 ]; then slices=("${all_slices[@]}"); fi
for slice in "${slices[@]}"; do step "slice $slice" "slice_$slice"; done
for slice in "${all_slices[@]}"; do
  case " ${slices[*]} " in *" $slice "*) ;; *) echo "slice not run: $slice" ;; esac
done
