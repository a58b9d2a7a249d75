#!/usr/bin/env bash
# Builds the fuzz targets of tests/fuzz with clang and runs each for SECONDS (default 60) from its
# kept seeds. A crash leaves its input in build/fuzz/crashes and fails the run.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}

find_clang() {
  for version in -19 -18 -17 -16 -15 -14 ""; do
    if command -v "clang++$version" >/dev/null; then echo "$version"; return; fi
  done
  echo "fuzz: no clang++ here; install clang and libclang-rt-dev" >&2
  exit 1
}

clang=$(find_clang)
cmake -S . -B build/fuzz -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DWHINCHAT_BUILD_FUZZERS=ON \
  -DWHINCHAT_BUILD_TESTS=OFF -DCMAKE_C_COMPILER="clang$clang" -DCMAKE_CXX_COMPILER="clang++$clang" \
  -DCMAKE_CXX_COMPILER_LAUNCHER="$(command -v ccache || true)" >/dev/null
targets=$(sed -n 's/^whinchat_fuzzer(\([a-z_]*\).*/\1/p' tests/fuzz/CMakeLists.txt)
# shellcheck disable=SC2046  # a list of words
cmake --build build/fuzz --target $(printf '%s_fuzz ' $targets)
mkdir -p build/fuzz/crashes
for target in $targets; do
  mkdir -p "build/fuzz/corpus/$target" "tests/fuzz/corpus/$target"
  echo "fuzz: $target for $seconds s"
  "build/fuzz/tests/fuzz/${target}_fuzz" "build/fuzz/corpus/$target" "tests/fuzz/corpus/$target" \
    -max_total_time="$seconds" -max_len=4096 -timeout=10 -rss_limit_mb=1024 -print_final_stats=1 \
    -artifact_prefix="build/fuzz/crashes/$target-" 2>&1 | grep -E '^(stat::|==|ERROR|SUMMARY|#[0-9]+.DONE)|DONE'
done
