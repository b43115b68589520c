#!/usr/bin/env bash
# bench.sh WAYS 'N...' ALSO: compares the exporter with other programs. WAYS are comma-separated parts of their names, N the numbers of
# targets, ALSO additional numbers of targets. It prints tables. Everything takes 16 minutes on an idle machine, and fourteen more
# with 5000 targets. If the collector cannot be built, its result says so.
set -euo pipefail
cd "$(dirname "$0")/../.."
ways=$1 numbers=$2 also=$3
mkdir -p "$CACHE/peers"
go build -o "$CACHE/peers/peers" ./tools/peers
case "$ways" in '' | *OTel*) make "$TOOLS/otelcol" || echo 'The OpenTelemetry Collector could not be built.' ;; esac
for n in ${numbers:-1 10 100 1000 $also}; do
  every=1s window=3s
  [ "$n" -lt 100 ] || window=8s
  [ "$n" -lt 1000 ] || { every=5s window=15s; }
  [ "$n" -lt 5000 ] || every=15s
  "$CACHE/peers/peers" -exporter "$EXPORTER" -prometheus "$TOOLS/prometheus" -otelcol "$TOOLS/otelcol" \
    -targets "$n" -interval $every -window $window -only "$ways"
done >"$CACHE/peers/results.json"
"$CACHE/peers/peers" -report "$CACHE/peers/results.json"
