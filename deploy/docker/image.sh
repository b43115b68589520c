#!/usr/bin/env bash
# image.sh build ARG...    builds the container image with docker, or else with buildah, which needs no daemon
# image.sh check ARG...    builds and inspects it, if buildah and the base image are available
set -euo pipefail
cd "$(dirname "$0")/../.."
what=$1
shift
if [ "$what" = build ]; then
  if command -v docker >/dev/null; then exec docker build "$@" .; fi
  if command -v buildah >/dev/null; then exec buildah build --format docker "$@" .; fi
  echo 'image: neither docker nor buildah is here'
  exit 1
fi
base=$(sed -n 's/^FROM .* \(golang:[^ ]*\) AS build$/\1/p' deploy/docker/Dockerfile)
[ -n "$base" ] || { echo 'check-image: no base image in deploy/docker/Dockerfile'; exit 1; }
command -v buildah >/dev/null || { echo "check-image: no buildah; only BuildKit's linter in check-deploy has checked it"; exit 0; }
buildah pull -q --policy missing "docker.io/library/$base" >/dev/null 2>&1 || {
  echo "check-image: $base cannot be pulled; only BuildKit's linter in check-deploy has checked it"
  exit 0
}
buildah build --format docker "$@" -t localhost/trtllm_exporter:check .
said=$(buildah inspect --type image --format '{{.Docker.Config.User}} {{.Docker.Config.Entrypoint}}' localhost/trtllm_exporter:check)
echo "check-image: $said"
[ "$said" = '65532:65532 [/trtllm_exporter]' ]
