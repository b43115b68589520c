#!/usr/bin/env bash
# A real NVIDIA Dynamo from PyPI: its frontend, and workers with its mock TensorRT-LLM engine. No GPU is needed.
#
#   dynamo.sh install [DIR]                install the packages of requirements.txt (DIR: .cache/dynamo/VERSION) and print DIR
#   dynamo.sh inside COMMAND...            exec COMMAND in a network namespace with only loopback
#   dynamo.sh run DIR STATE frontend PORT [FLAGS]          exec a frontend; STATE is a folder shared with its workers
#   dynamo.sh run DIR STATE worker PORT [FLAGS]            exec a worker with its system port
#
# Some of Dynamo's ports are open on every interface, so run it only with inside.
# Exit codes: 0 done, 1 failed, 2 usage, 3 this machine cannot run it (with a line that explains why).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
requirements=$here/requirements.txt
layout=1 # Raise it when an install of an older script can no longer be used.

skip() { echo "dynamo.sh: skip: $*" >&2; exit 3; }
fail() { echo "dynamo.sh: $*" >&2; exit 1; }
usage() { sed -n '/^#   /s/^#   //p' "${BASH_SOURCE[0]}" >&2; exit 2; }
version() { sed -n 's/^ai-dynamo==//p' "$requirements"; }

# namespace prints how to get a network namespace of one's own: as root, or with a user namespace where those are allowed.
namespace() {
  local how
  command -v unshare >/dev/null || return 1
  for how in "unshare -n" "unshare -rn"; do
    if $how true 2>/dev/null; then echo "$how"; return 0; fi
  done
  return 1
}

# usable PYTHON says whether the packages have wheels for PYTHON, and whether it can make a venv.
usable() { "$1" -c 'import ensurepip, sys, venv; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 12))' 2>/dev/null; }

find_python() {
  local candidate
  for candidate in ${DYNAMO_PYTHON:-python3 python3.12 python3.11}; do
    if usable "$candidate"; then echo "$candidate"; return 0; fi
  done
  return 1
}

check_machine() {
  local libc
  [ "$(uname -s)" = Linux ] || skip "network namespaces are Linux', this is $(uname -s)"
  case $(uname -m) in x86_64 | aarch64) ;; *) skip "there are no wheels for $(uname -m)" ;; esac
  libc=$(getconf GNU_LIBC_VERSION 2>/dev/null | awk '{ print $2 }') || true
  [ -n "$libc" ] && [ "$(printf '%s\n2.28\n' "$libc" | sort -V | head -n 1)" = 2.28 ] || skip "glibc >= 2.28 is needed"
  namespace >/dev/null || skip "this user may make no network namespace"
}

install() {
  local dir stamp python
  dir=${1:-$here/../../.cache/dynamo/$(version)}
  check_machine
  mkdir -p "$dir"
  dir=$(cd "$dir" && pwd)
  exec 9>"$dir/lock"
  flock 9
  stamp="layout $layout requirements $(cat "$requirements" "$here/model.py" | sha256sum | cut -d ' ' -f 1) at $dir"
  if [ "$(cat "$dir/stamp" 2>/dev/null)" = "$stamp" ] && "$dir/venv/bin/python" -c 'import dynamo._core' 2>/dev/null; then
    echo "$dir"
    return
  fi
  python=$(find_python) || skip "no Python 3.11 or 3.12 with venv and pip"
  rm -rf "$dir/stamp" "$dir/venv" "$dir/model"
  "$python" -m venv "$dir/venv"
  # Without dependencies: ai-dynamo asks for a package that is a stub on PyPI; the list is whole.
  "$dir/venv/bin/python" -m pip --disable-pip-version-check install -q --retries 5 --only-binary :all: --no-deps -r "$requirements" >&2
  "$dir/venv/bin/python" "$here/model.py" "$dir/model"
  echo "$stamp" >"$dir/stamp"
  echo "$dir"
}

# loopback brings up lo, with iproute2 or without it.
loopback() {
  if command -v ip >/dev/null; then ip link set lo up; return; fi
  python3 - <<'PY'
import fcntl, socket, struct
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
with socket.socket() as s:
    fcntl.ioctl(s, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))
PY
}

inside() {
  local how
  how=$(namespace) || skip "this user may make no network namespace"
  exec $how -- "$0" up "$@"
}

run() {
  local dir=$1 state=$2 what=$3 port=$4
  shift 4
  [ -f "$dir/stamp" ] || fail "$dir holds no Dynamo: dynamo.sh install $dir"
  mkdir -p "$state/kv" "$state/home"
  export HOME=$state/home TMPDIR=$state/home HF_HUB_OFFLINE=1 DYN_DISCOVERY_BACKEND=file DYN_FILE_KV=$state/kv
  export DYN_REQUEST_PLANE=tcp DYN_EVENT_PLANE=zmq DYN_EVENT_PLANE_HOST=127.0.0.1 DYN_HTTP_HOST=127.0.0.1
  export DYN_SYSTEM_HOST=127.0.0.1 DYN_TCP_RPC_HOST=127.0.0.1 DYN_TCP_RESPONSE_STREAM_HOST=127.0.0.1
  case $what in
  frontend) exec "$dir/venv/bin/python" -m dynamo.frontend --http-host 127.0.0.1 --http-port "$port" "$@" ;;
  worker)
    export DYN_SYSTEM_PORT=$port
    exec "$dir/venv/bin/python" -m dynamo.mocker --engine-type trtllm --model-path "$dir/model" --model-name tiny-llama \
      --speedup-ratio 1.0 --num-gpu-blocks-override 512 --block-size 64 --max-num-seqs 16 "$@"
    ;;
  *) usage ;;
  esac
}

case ${1:-} in
install) shift; install "$@" ;;
inside) shift; [ $# -ge 1 ] || usage; inside "$@" ;;
up) shift; loopback; exec "$@" ;; # The second half of inside.
run) shift; [ $# -ge 4 ] || usage; run "$@" ;;
*) usage ;;
esac
