#!/usr/bin/env bash
# A real Kubernetes API server with etcd, on loopback. There are no controllers, nodes or kubelets: objects are validated, stored and
# protected by RBAC, nothing else.
#
#   cluster.sh install             check that it can run here; as root with CI=true or KUBE_INSTALL=yes, install Debian packages
#   cluster.sh during COMMAND...   run COMMAND with a new, empty cluster
#
# KUBE_APISERVER is the server's binary. COMMAND gets the administrator's file as KUBECONFIG.
# Exit codes: that of COMMAND, 1 failed, 2 usage, 3 this machine cannot run it (with a line that explains why).
set -euo pipefail

packages="etcd-server openssl curl"

skip() { echo "cluster.sh: skip: $*" >&2; exit 3; }
fail() { echo "cluster.sh: $*" >&2; exit 1; }
usage() { sed -n '/^#   /s/^#   //p' "${BASH_SOURCE[0]}" >&2; exit 2; }

# missing prints the programs that are not here.
missing() {
  local program
  for program in etcd openssl curl; do
    command -v "$program" >/dev/null || printf '%s ' "$program"
  done
}

install() {
  [ -n "$(missing)" ] || return 0
  if [ "${CI:-}" = true ] || [ "${KUBE_INSTALL:-}" = yes ]; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
      echo "installing $packages" >&2
      # shellcheck disable=SC2086 # These are words.
      apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends $packages >/dev/null
    fi
  fi
  [ -z "$(missing)" ] || skip "missing: $(missing)(apt-get install $packages; as root KUBE_INSTALL=yes does it)"
}

# free prints a port of loopback that nothing listens on, below those that the kernel gives to clients.
free() {
  local port
  while :; do
    port=$((20000 + RANDOM % 12000))
    if ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then echo "$port"; return; fi
  done
}

# spawn NAME COMMAND... starts a server that dies with this script.
spawn() {
  local name=$1
  shift
  setpriv --pdeathsig KILL "$@" >"$dir/$name.log" 2>&1 &
  servers+=($!)
}

start() {
  local client=http://127.0.0.1:$1 peer=http://127.0.0.1:$2 api=https://127.0.0.1:$3 token
  spawn etcd etcd --data-dir "$dir/etcd" --listen-client-urls "$client" --advertise-client-urls "$client" \
    --listen-peer-urls "$peer" --initial-advertise-peer-urls "$peer" --initial-cluster "default=$peer" --unsafe-no-fsync
  openssl genrsa -out "$dir/tokens.key" 2048 2>/dev/null
  token=$(openssl rand -hex 16)
  echo "$token,admin,admin,system:masters" >"$dir/tokens.csv"
  # Nothing makes the account "default" here, without which that plugin refuses every pod.
  spawn kube-apiserver "$KUBE_APISERVER" --etcd-servers="$client" --bind-address=127.0.0.1 --advertise-address=127.0.0.1 \
    --secure-port="$3" --cert-dir="$dir" --authorization-mode=RBAC --token-auth-file="$dir/tokens.csv" \
    --service-account-key-file="$dir/tokens.key" --service-account-signing-key-file="$dir/tokens.key" \
    --service-account-issuer=https://kubernetes.default.svc --service-cluster-ip-range=10.0.0.0/24,fd00::/112 \
    --endpoint-reconciler-type=none --disable-admission-plugins=ServiceAccount --allow-privileged=true
  cat >"$dir/kubeconfig" <<CONFIG
apiVersion: v1
kind: Config
clusters: [ { name: here, cluster: { server: "$api", certificate-authority: $dir/apiserver.crt } } ]
users: [ { name: admin, user: { token: "$token" } } ]
contexts: [ { name: here, context: { cluster: here, user: admin } } ]
current-context: here
CONFIG
  ready "$api" "$token"
}

# ready waits two minutes for the server, which needs four seconds on an idle machine.
ready() {
  local server
  for _ in $(seq 240); do
    for server in "${servers[@]}"; do kill -0 "$server" 2>/dev/null || return 1; done
    if [ "$(curl -s --cacert "$dir/apiserver.crt" -H "Authorization: Bearer $2" "$1/readyz" 2>/dev/null)" = ok ]; then return 0; fi
    sleep 0.5
  done
  return 1
}

stop() {
  local server
  for server in "${servers[@]}"; do kill -KILL "$server" 2>/dev/null || true; done
  wait 2>/dev/null || true
  rm -rf "$dir"
}

during() {
  [ -z "$(missing)" ] || skip "missing: $(missing)"
  [ -x "${KUBE_APISERVER:-}" ] || fail "KUBE_APISERVER names no program: make .cache/bin/kube-apiserver"
  umask 077
  dir=$(mktemp -d)
  servers=()
  trap stop EXIT
  trap 'exit 1' INT TERM
  # Somebody else may take a port between our look and the server's; then others are tried.
  for _ in 1 2 3; do
    if start "$(free)" "$(free)" "$(free)"; then
      KUBECONFIG=$dir/kubeconfig "$@" && code=0 || code=$?
      exit "$code"
    fi
    tail -n 5 "$dir"/*.log >&2
    stop
    mkdir "$dir"
    servers=()
  done
  fail "the API server does not start"
}

case ${1:-} in
install) install ;;
during) shift; [ $# -ge 1 ] || usage; during "$@" ;;
*) usage ;;
esac
