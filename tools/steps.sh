# Sourced by the test scripts: named steps with their times, and a summary at the end.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
jobs=${JOBS:-$(nproc)}
launcher=()
if command -v ccache >/dev/null; then launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
summary=()
current_step="setup"

# step NAME COMMAND...: runs it, stops the script when it fails.
step() {
  current_step=$1
  shift
  local started=$SECONDS
  printf '\n=== %s\n' "$current_step"
  "$@"
  summary+=("$(printf '%4d s  %s' $((SECONDS - started)) "$current_step")")
}

print_summary() {
  local code=$?
  printf '\n=== summary\n'
  printf '%s\n' "${summary[@]}"
  if [ "$code" != 0 ]; then printf 'FAILED in: %s\n' "$current_step"; fi
  return "$code"
}
trap print_summary EXIT

# A Python environment in build/venv-NAME with exactly the pinned packages of a file.
make_venv() {
  local name=$1 requirements=$2
  local folder=$root/build/venv-$name
  if ! cmp -s "$requirements" "$folder/requirements.txt"; then
    rm -rf "$folder"
    python3 -m venv "$folder"
    "$folder/bin/pip" install --quiet --disable-pip-version-check -r "$requirements"
    cp "$requirements" "$folder/requirements.txt"
  fi
}

configure_and_build() {
  local preset=$1
  cmake --preset "$preset" "${launcher[@]}" >/dev/null
  cmake --build --preset "$preset" --parallel "$jobs"
}

# The ISAs that the kernels of this machine can be told to use, one a line.
available_isas() {
  build/release/whinchat isas
}
