#!/bin/sh
# Runs the demo and Prometheus with the shipped rules for some minutes, then draws every dashboard into a folder.
# EXPORTER and PROMETHEUS are the programs; SECONDS_TO_SHOW is the time range of the pictures.
set -eu

out=$(mkdir -p "$1" && cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
show=${SECONDS_TO_SHOW:-240}
work=$(mktemp -d)
pids=
trap 'for p in $pids; do kill "$p" 2>/dev/null || :; done; wait; rm -rf "$work"' EXIT

cd "$here"
[ -d node_modules ] || npm ci --ignore-scripts --legacy-peer-deps
npx vite build --logLevel error

printf 'evaluation_interval: 2s\nscrape_interval: 4s\nskew_for: 10s\nslo_slow_interval: 4s\nslo_budget_interval: 8s\npanel_slow_interval: 4s\n' >"$work/values.yml"
"$EXPORTER" rules --values "$work/values.yml" >"$work/rules.yml"

# watch EXPORTER_PORT PROMETHEUS_PORT FLAG... runs a demo with a Prometheus of its own.
watch() {
	exporter_at=127.0.0.1:$1 prometheus_at=127.0.0.1:$2
	shift 2
	sed -e 's/15s/2s/' -e "s/127.0.0.1:9802/$exporter_at/" ../../alerts/prometheus.yml >"$work/${exporter_at#*:}.yml"
	"$EXPORTER" demo --web.listen-address="$exporter_at" --log.level=error "$@" >/dev/null &
	pids="$pids $!"
	"$PROMETHEUS" --config.file="$work/${exporter_at#*:}.yml" --storage.tsdb.path="$work/tsdb-${exporter_at#*:}" \
		--web.listen-address="$prometheus_at" --log.level=error 2>/dev/null &
	pids="$pids $!"
}

# The servers of the first demo prefill and decode alike.
staged=../../dashboards/json/trtllm-disaggregation.json
watch 19802 19803 --mixed
watch 19806 19807 --disaggregated --replicas=2
sleep $((show + 15))
# shellcheck disable=SC2046 # File names without spaces.
node shot.mjs http://127.0.0.1:19803 "$show" qwen-7b-chat llama-70b-2 "$out" $(ls ../../dashboards/json/*.json | grep -vxF "$staged")
OPEN=1 node shot.mjs http://127.0.0.1:19807 "$show" 'gpt-oss-120b|qwen-32b' '' "$out" "$staged"
