#!/bin/sh
# Runs the demo and Prometheus with the shipped rules for some minutes, then draws every dashboard into a folder.
# EXPORTER and PROMETHEUS are the programs; SECONDS_TO_SHOW is the time range of the pictures.
set -eu

out=$(mkdir -p "$1" && cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
show=${SECONDS_TO_SHOW:-240}
exporter_at=127.0.0.1:19802
prometheus_at=127.0.0.1:19803
work=$(mktemp -d)
pids=
trap 'for p in $pids; do kill "$p" 2>/dev/null || :; done; wait; rm -rf "$work"' EXIT

cd "$here"
[ -d node_modules ] || npm ci --ignore-scripts --legacy-peer-deps
npx vite build --logLevel error

printf 'evaluation_interval: 2s\nscrape_interval: 4s\nskew_for: 10s\nslo_slow_interval: 4s\nslo_budget_interval: 8s\npanel_slow_interval: 4s\n' >"$work/values.yml"
"$EXPORTER" rules --values "$work/values.yml" >"$work/rules.yml"
sed -e 's/15s/2s/' -e "s/127.0.0.1:9802/$exporter_at/" ../../alerts/prometheus.yml >"$work/prometheus.yml"
"$EXPORTER" demo --mixed --web.listen-address=$exporter_at --log.level=error >/dev/null &
pids="$pids $!"
"$PROMETHEUS" --config.file="$work/prometheus.yml" --storage.tsdb.path="$work/tsdb" --web.listen-address=$prometheus_at --log.level=error 2>/dev/null &
pids="$pids $!"
sleep $((show + 15))
node shot.mjs "http://$prometheus_at" "$show" qwen-7b-chat llama-70b-2 "$out" ../../dashboards/json/*.json
