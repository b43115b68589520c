#!/usr/bin/env bash
# A real, CPU-only Triton Inference Server from its PyPI wheel, on loopback.
#
#   triton.sh install [DIR] [WHEEL]   install a wheel of pins.tsv, the first by default (DIR: .cache/triton/WHEEL; "" for the default)
#   triton.sh run     DIR [FLAGS]     exec tritonserver with the models next to this script and FLAGS
#   triton.sh pins                    print the pinned wheels and the Triton version of each
#
# Python models use shared memory /dev/shm/triton_METRICS_PORT_*, which a killed server leaves behind.
# run reads HTTP_PORT, GRPC_PORT, METRICS_PORT (8000, 8001, 8002) and MODELS (a model repository).
# Start it with setsid, because stubs of Python models die with the process group of the caller.
# Exit codes: 0 done, 1 failed, 2 usage, 3 this machine cannot run the wheel (with a line that explains why).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
pins=$here/pins.tsv
layout=1 # Raise it when an install of an older script can no longer be used.

skip() { echo "triton.sh: skip: $*" >&2; exit 3; }
fail() { echo "triton.sh: $*" >&2; exit 1; }
usage() { sed -n '/^#   /s/^#   //p' "${BASH_SOURCE[0]}" >&2; exit 2; }

# pin KEY COLUMN prints one cell of pins.tsv, nothing for an unknown key.
pin() { awk -F '\t' -v key="$1" -v col="$2" '$1 == key { print $col }' "$pins"; }
wheels() { awk -F '\t' '/^[0-9]/ { print $1 "\t" $2 }' "$pins"; }

# check_machine skips where the wheel's binaries cannot run: they are x86_64 and want glibc 2.35.
check_machine() {
  local libc
  [ "$(uname -sm)" = "Linux x86_64" ] || skip "the wheel is for Linux x86_64, this is $(uname -sm)"
  libc=$(getconf GNU_LIBC_VERSION 2>/dev/null | awk '{ print $2 }') || true
  [ -n "$libc" ] || skip "glibc >= 2.35 is needed, this machine has another C library"
  [ "$(printf '%s\n2.35\n' "$libc" | sort -V | head -n 1)" = 2.35 ] || skip "glibc >= 2.35 is needed, this machine has $libc"
}

# usable PYTHON prints "3.11 /dir/of/libpython" when PYTHON has venv, pip and a shared library to load.
usable() {
  "$1" - 2>/dev/null <<'PY'
import ctypes, ensurepip, os, sys, sysconfig, venv
directory, name = sysconfig.get_config_var("LIBDIR"), sysconfig.get_config_var("INSTSONAME")
near = os.path.join(directory, name)
ctypes.CDLL(near if os.path.exists(near) else name)
print("%d.%d" % sys.version_info[:2], directory)
PY
}

# find_python WHEEL prints "python3.11 3.11 /dir/of/libpython" of the first interpreter the wheel has a stub for.
find_python() {
  local candidate found
  for candidate in ${TRITON_PYTHON:-python3 python3.11 python3.10 python3.12 python3.9}; do
    found=$(usable "$candidate") || continue
    case " $(pin "$1" 3) " in *" ${found%% *} "*) echo "$candidate $found"; return 0 ;; esac
  done
  return 1
}

# fetch WHEEL DIR downloads the wheel into DIR, compares its digest and prints its path.
fetch() {
  local file
  "$2/venv/bin/python" -m pip --disable-pip-version-check download -q --retries 5 --no-deps --only-binary :all: -d "$2" "nvidia-pytriton==$1" >&2
  file=$(find "$2" -maxdepth 1 -name "nvidia_pytriton-$1-*.whl")
  echo "$(pin "$1" 4)  $file" | sha256sum --check --quiet >&2 || fail "the digest of nvidia-pytriton $1 is not the one in pins.tsv"
  echo "$file"
}

# unpack FILE DIR PYTHON lays the server out in DIR/server; zip files lose the execute bits.
unpack() {
  local server=$2/server/pytriton/tritonserver
  "$2/venv/bin/python" -m zipfile -e "$1" "$2/server"
  cp "$server/python_backend_stubs/$3/triton_python_backend_stub" "$server/backends/python/"
  chmod +x "$server/bin/tritonserver" "$server/backends/python/triton_python_backend_stub"
  rm -rf "$1" "$server/python_backend_stubs"
}

install() {
  local wheel dir stamp python version libdir file
  wheel=${2:-$(wheels | head -n 1 | cut -f 1)}
  dir=${1:-$here/../../.cache/triton/$wheel}
  [ -n "$(pin "$wheel" 2)" ] || fail "wheel $wheel is not in pins.tsv: $(wheels | cut -f 1 | xargs)"
  check_machine
  mkdir -p "$dir"
  dir=$(cd "$dir" && pwd -P)
  exec 9>"$dir/lock"
  flock 9
  stamp="layout $layout wheel $(pin "$wheel" 4) numpy $(pin numpy 2) at $dir"
  if [ "$(cat "$dir/stamp" 2>/dev/null)" = "$stamp" ] && "$dir/venv/bin/python" -c 'import numpy' 2>/dev/null; then
    echo "$dir"
    return
  fi
  read -r python version libdir < <(find_python "$wheel") || skip "no Python of $(pin "$wheel" 3) with venv, pip and a shared libpython"
  rm -rf "$dir/stamp" "$dir/venv" "$dir/server" "$dir"/*.whl
  "$python" -m venv "$dir/venv"
  "$dir/venv/bin/python" -m pip --disable-pip-version-check install -q --retries 5 --only-binary :all: "numpy==$(pin numpy 2)" >&2
  file=$(fetch "$wheel" "$dir")
  unpack "$file" "$dir" "$version"
  echo "$libdir" >"$dir/libdir"
  echo "$stamp" >"$dir/stamp"
  echo "$dir"
}

# follow PID SHM ends the session of a server that was killed, with its stubs and their memory: a stub whose threads wait for
# the server waits for ever. It works for a server that was started with setsid, whose process group is its own.
follow() {
  [ "$(cut -d ' ' -f 5 "/proc/$1/stat")" = "$1" ] || return 0
  (
    while kill -0 "$1"; do sleep 1; done
    rm -f "/dev/shm/$2"*
    kill -KILL -- "-$1"
  ) </dev/null >/dev/null 2>&1 &
}

run() {
  local dir server shm
  [ -f "$1/stamp" ] || fail "$1 holds no Triton: triton.sh install $1"
  dir=$(cd "$1" && pwd)
  server=$dir/server/pytriton/tritonserver
  shift
  export PATH=$dir/venv/bin:$PATH # The stub finds numpy through the first python3.
  export VIRTUAL_ENV=$dir/venv
  LD_LIBRARY_PATH=$dir/server/nvidia_pytriton.libs:$(cat "$dir/libdir")
  export LD_LIBRARY_PATH
  # A name of its own: releases of 2023 number theirs, so two servers would share one; and what a killed server left goes.
  shm=triton_${METRICS_PORT:-8002}_
  rm -f "/dev/shm/$shm"*
  follow $$ "$shm"
  exec "$server/bin/tritonserver" --model-repository="${MODELS:-$here/models}" \
    --backend-directory="$server/backends" --cache-directory="$server/caches" --backend-config="python,shm-region-prefix-name=$shm" \
    --http-address=127.0.0.1 --grpc-address=127.0.0.1 --metrics-address=127.0.0.1 \
    --http-port="${HTTP_PORT:-8000}" --grpc-port="${GRPC_PORT:-8001}" --metrics-port="${METRICS_PORT:-8002}" "$@"
}

case ${1:-} in
install) shift; install "$@" ;;
run) shift; [ $# -ge 1 ] || usage; run "$@" ;;
pins) wheels ;;
*) usage ;;
esac
