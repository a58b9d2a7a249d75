#!/usr/bin/env bash
# Shows that the source builds and passes its unit tests with another Debian release's versions:
# build_in_root.sh RELEASE [g++|clang++]. Makes a root folder of that release once (mmdebstrap, from the
# mirror this machine's apt uses) and builds inside it. Needs root, mmdebstrap and about 3 GB.
set -euo pipefail
release=${1:?usage: build_in_root.sh RELEASE [g++|clang++]}
compiler=${2:-g++}
cd "$(dirname "$0")/.."
root=${WHINCHAT_ROOTS:-$PWD/build/roots}/$release
boost=libboost1.83-dev
if [ "$release" = bookworm ]; then boost=libboost1.81-dev; fi
packages="ca-certificates g++ clang cmake ninja-build pkg-config python3 nlohmann-json3-dev libcli11-dev
  libfmt-dev libutf8proc-dev libxxhash-dev libedit-dev $boost libgtest-dev libgmock-dev"
# The chat templates need Rust 1.74: Debian 12 has it under another name.
if [ "$release" = bookworm ]; then packages+=" cargo-web rustc-web"; else packages+=" cargo rustc"; fi

if [ ! -e "$root/etc/debian_version" ]; then
  # Of the archives that apt knows the plain one, not its updates.
  mirror=$(apt-get indextargets --format '$(CODENAME) $(REPO_URI)' | sed -n '/^[a-z]* /{s/.* //p;q}')
  if [ -z "$mirror" ]; then
    echo "apt on this machine has no mirror to install $release from" >&2
    exit 1
  fi
  mkdir -p "$(dirname "$root")"
  mmdebstrap --variant=apt --include="$(echo $packages | tr ' ' ,)" "$release" "$root" "$mirror"
fi

# The tracked files as they are now, and what cargo knows of its registry.
rm -rf "$root/source"
mkdir -p "$root/source" "$root/root/.cargo"
git ls-files --cached --others --exclude-standard -z | tar --null -T - -c | tar -x -C "$root/source"
cargo_home=${CARGO_HOME:-$HOME/.cargo}
for part in config.toml config registry; do
  if [ -e "$cargo_home/$part" ]; then cp -r "$cargo_home/$part" "$root/root/.cargo/"; fi
done
cp /etc/resolv.conf "$root/etc/resolv.conf"
cat >"$root/build.sh" <<'EOT'
set -eu
cd /source
rm -rf build
cmake --preset release -DWHINCHAT_WARNINGS_AS_ERRORS=OFF >/dev/null
cmake --build --preset release
ctest --preset release
EOT

# In a mount namespace of its own, so that what is mounted goes with it. The mount is made from
# outside: a small root has no mount command.
export root compiler
unshare --mount sh -euc '
  mount -t proc proc "$root/proc"
  exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root CXX="$compiler" sh /build.sh
'
