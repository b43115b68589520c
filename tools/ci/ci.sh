#!/usr/bin/env bash
# ci.sh STEP...: makes each step, continues after failures, and lists them at the end. While the first steps compile, it downloads
# what later ones need; a failed download is retried, and reported, by its step.
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
trap 'kill $! 2>/dev/null || :' EXIT
passed=0 failed=''
for step; do
  echo "==> $step"
  begin=$SECONDS
  if make "$step"; then passed=$((passed + 1)); else failed="$failed $step"; fi
  echo "==> $step took $((SECONDS - begin)) s"
done
echo "ci took $SECONDS s"
# shellcheck disable=SC2086 # These are words.
set -- $failed
[ $# = 0 ] || echo "failed steps:$failed"
echo "ci: $passed passed, $# failed"
[ $# = 0 ]
