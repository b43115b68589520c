#!/usr/bin/env bash
# bench.sh WAYS 'N...' ALSO: compares the exporter with other ways. WAYS are parts of the names of those to run, between commas, N the
# numbers of targets, ALSO numbers that are added to the whole. The whole (no WAYS, no N) writes the tables of docs/dev/performance.md: 16
# minutes of a machine without other work, nine more with 5000 targets. Where the collector cannot be built, its way says so.
set -euo pipefail
cd "$(dirname "$0")/../.."
ways=$1 numbers=$2 also=$3
mkdir -p "$CACHE/peers"
(cd tools/peers && "$TOOLS/golangci-lint" run ./... && go test ./... && go build -o "$CACHE/peers/peers" .)
case "$ways" in '' | *OTel*) make "$TOOLS/otelcol" || echo 'The OpenTelemetry Collector could not be built.' ;; esac
for n in ${numbers:-1 10 100 1000 $also}; do
  every=1s window=3s
  [ "$n" -lt 100 ] || window=8s
  [ "$n" -lt 1000 ] || { every=5s window=15s; }
  [ "$n" -lt 5000 ] || every=15s
  "$CACHE/peers/peers" -exporter "$EXPORTER" -prometheus "$TOOLS/prometheus" -otelcol "$TOOLS/otelcol" \
    -targets "$n" -interval $every -window $window -only "$ways"
done >"$CACHE/peers/results.json"
if [ -n "$ways$numbers" ]; then
  echo 'A part of it: docs are left as they are, see .cache/peers/results.json.'
else
  "$CACHE/peers/peers" -report docs/dev/performance.md "$CACHE/peers/results.json"
fi
