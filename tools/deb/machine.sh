#!/usr/bin/env bash
# A clean Debian that boots systemd in its own namespaces, with only a loopback network.
#
#   machine.sh check               report whether this machine can run it
#   machine.sh base                build .cache/deb/SUITE-ARCH.tar with debootstrap if it is missing, and print its path
#   machine.sh boot BASE DIR       unpack BASE into DIR/root and boot it; SIGTERM stops it
#   machine.sh enter DIR COMMAND...   exec COMMAND as root inside the machine in DIR
#
# Must run as root. DEBIAN_MIRROR and DEBIAN_SUITE choose the distribution.
# Exit codes: 0 done, 1 failed, 2 usage, 3 this machine cannot run it (with a line that explains why).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=$here/../../.cache/deb
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
suite=${DEBIAN_SUITE:-bookworm}
# What every Debian server has and the smallest one lacks: systemd, its bus, and curl to look at the page with.
packages=systemd-sysv,dbus,curl
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

skip() { echo "machine.sh: skip: $*" >&2; exit 3; }
fail() { echo "machine.sh: $*" >&2; exit 1; }
usage() { sed -n '/^#   /s/^#   //p' "${BASH_SOURCE[0]}" >&2; exit 2; }

check() {
  local program
  [ "$(uname -s)" = Linux ] || skip "systemd is Linux', this is $(uname -s)"
  [ "$(id -u)" = 0 ] || skip "only root may boot a machine"
  for program in debootstrap systemd-nspawn unshare nsenter; do
    command -v "$program" >/dev/null || skip "$program is not here (Debian packages debootstrap, systemd-container, util-linux)"
  done
  [ -f "$keyring" ] || skip "$keyring is not here (Debian package debian-archive-keyring)"
  unshare --mount --net --pid --fork true 2>/dev/null || skip "no namespaces may be made here"
  unshare --mount bash -c 'mount -t cgroup2 cgroup2 /mnt' 2>/dev/null || skip "cgroup2 cannot be mounted here"
}

base() {
  local arch tar work
  check
  arch=$(uname -m | sed 's/x86_64/amd64/; s/aarch64/arm64/')
  mkdir -p "$cache"
  tar=$(cd "$cache" && pwd)/$suite-$arch-$(echo "$packages" | sha256sum | cut -c 1-8).tar
  exec 9>"$cache/lock"
  flock 9
  if [ ! -f "$tar" ]; then
    work=$(mktemp -d -p /var/tmp)
    # shellcheck disable=SC2064 # The folder of now: EXIT no longer knows it.
    trap "rm -rf '$work'" EXIT
    if ! debootstrap --force-check-gpg --keyring="$keyring" --arch="$arch" --variant=minbase --include="$packages" \
      "$suite" "$work/root" "$mirror" >"$work/log" 2>&1; then
      tail -n 5 "$work/log" >&2
      fail "debootstrap of $suite from $mirror failed"
    fi
    rm -rf "$work"/root/var/cache/apt/archives/*.deb "$work"/root/etc/{hostname,resolv.conf}
    tar -C "$work/root" --xattrs --numeric-owner -cf "$tar.part" .
    mv "$tar.part" "$tar"
  fi
  echo "$tar"
}

# boot unpacks and goes on in a mount namespace, whatever this machine has of cgroups and of systemd itself.
boot() {
  check
  mkdir -p "$2/root"
  tar -C "$2/root" --xattrs --numeric-owner -xpf "$1"
  exec unshare --mount --propagation private "$0" booted "$2"
}

# booted boots until the machine halts, and leaves no cgroup behind.
booted() {
  local dir=$1 cgroup pid code=133
  mount -t tmpfs tmpfs /run
  umount -R /sys/fs/cgroup 2>/dev/null || true
  mount -t cgroup2 cgroup2 /sys/fs/cgroup
  cgroup=/sys/fs/cgroup/machine-$$
  trap 'kill -TERM $pid' TERM INT
  while [ "$code" = 133 ]; do # The machine rebooted.
    mkdir "$cgroup"
    (
      echo "$BASHPID" >"$cgroup/cgroup.procs"
      exec systemd-nspawn --quiet --directory="$dir/root" --machine="trtllm-$$" --hostname=debian --private-network \
        --register=no --keep-unit --resolv-conf=off --timezone=off --console=read-only --boot
    ) &
    pid=$!
    echo "$pid" >"$dir/pid"
    code=0
    while kill -0 "$pid" 2>/dev/null; do code=0; wait "$pid" || code=$?; done # A signal ends wait, too.
    rm -f "$dir/pid"
    find "$cgroup" -depth -type d -exec rmdir {} +
  done
  return "$code"
}

enter() {
  local pid init
  pid=$(cat "$1/pid") || fail "$1 is not booted"
  init=$(cut -d ' ' -f 1 "/proc/$pid/task/$pid/children")
  [ -n "$init" ] || fail "$1 is not booted"
  shift
  exec nsenter --target "$init" --mount --uts --ipc --net --pid --cgroup -- \
    env -i HOME=/root LANG=C.UTF-8 TERM=dumb DEBIAN_FRONTEND=noninteractive PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
}

case ${1:-} in
check) check ;;
base) base ;;
boot) shift; [ $# = 2 ] || usage; boot "$@" ;;
booted) shift; booted "$@" ;; # The second half of boot.
enter) shift; [ $# -ge 2 ] || usage; enter "$@" ;;
*) usage ;;
esac
