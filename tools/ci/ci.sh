#!/usr/bin/env bash
# ci.sh STEP...: makes each step, continues after failures, and lists them at the end. A step with "&" behind it goes on beside
# those after it, which is for one that waits more than it computes; what it printed comes last. While the first steps compile, ci.sh
# downloads what later ones need; a failed download is retried, and reported, by its step.
set -euo pipefail
cd "$(dirname "$0")/../.."

fetch() {
  local module wheel
  go -C tools/gotools list -deps tool || :
  go -C tools/prometheus list -deps -tags remove_all_sd,enable_kubernetes_sd,enable_dns_sd tool || :
  go -C tools/kubernetes list -deps helm.sh/helm/v3/cmd/helm github.com/helm-unittest/helm-unittest/cmd/helm-unittest || :
  for module in . tools/querycheck tools/manifests; do go -C "$module" list -deps -test ./... || :; done
  for wheel in 0.7.0 0.5.5 0.4.0; do PIP_NO_CACHE_DIR=1 tools/triton/triton.sh install "$CACHE/triton/$wheel" "$wheel" || :; done
  PIP_NO_CACHE_DIR=1 tools/dynamo/dynamo.sh install || :
  PIP_NO_CACHE_DIR=1 tools/pytest/pytest.sh --version || :
}

mkdir -p "$CACHE"
fetch >"$CACHE/fetch.log" 2>&1 &
trap 'kill $(jobs -p) 2>/dev/null || :' EXIT
passed=0 failed='' beside=''

# ended NAME STATUS BEGIN reports a step.
ended() {
  if [ "$2" = 0 ]; then passed=$((passed + 1)); else failed="$failed $1"; fi
  echo "==> $1 took $((SECONDS - $3)) s"
}

for step; do
  name=${step%&} begin=$SECONDS status=0
  echo "==> $step"
  if [ "$name" != "$step" ]; then
    make "$name" >"$CACHE/$name.log" 2>&1 &
    beside="$beside $name:$!:$begin"
    continue
  fi
  make "$name" || status=$?
  ended "$name" "$status" "$begin"
done
for step in $beside; do
  IFS=: read -r name process begin <<<"$step"
  status=0
  wait "$process" || status=$?
  echo "==> $name, begun after $begin s"
  cat "$CACHE/$name.log"
  ended "$name" "$status" "$begin"
done
echo "ci took $SECONDS s"
# shellcheck disable=SC2086 # These are words.
set -- $failed
[ $# = 0 ] || echo "failed steps:$failed"
echo "ci: $passed passed, $# failed"
[ $# = 0 ]
