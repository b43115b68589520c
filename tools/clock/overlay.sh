#!/bin/sh
# overlay.sh DIR: writes the files for `go build -overlay DIR/overlay.json`, for programs whose wall clock jumps by the environment
# variable TIME_JUMPS: "12:3600,24:-7200" is an hour forward 12 seconds after the start, and two hours back at 24. The monotonic clock
# is not affected, as when a clock is set.
set -eu
dir=$1
time=$(go env GOROOT)/src/time
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$dir"
awk '/^func Now\(\) Time \{$/ { now = 1 } { print } now && /runtimeNow\(\)$/ { print "\tsec += jumped(mono - startNano)"; now = 0 }' "$time/time.go" >"$dir/time.go"
grep -q 'sec += jumped' "$dir/time.go" || { echo "overlay.sh: time.Now of $(go env GOVERSION) is not what it was" >&2; exit 1; }
cp "$here/jumps.go.txt" "$dir/jumps.go"
printf '{"Replace": {"%s": "%s", "%s": "%s"}}\n' "$time/time.go" "$dir/time.go" "$time/jumps.go" "$dir/jumps.go" >"$dir/overlay.json"
