#!/usr/bin/env bash
# cover.sh MIN 'GATED...' [PACKAGE...]: runs tests with coverage; each gated package must reach MIN percent. Without PACKAGE only the
# gated packages are tested.
set -euo pipefail
min=$1 gated=$2
shift 2
mkdir -p "$CACHE/cover"
# shellcheck disable=SC2086 # These are words.
[ $# != 0 ] || set -- $(printf './%s ' $gated)
out=$CACHE/cover/packages.txt
go test ${VET:-} ${BUSY:-} -shuffle=on -coverprofile="$CACHE/cover/profile.out" "$@" >"$out" 2>&1 || { cat "$out"; exit 1; }
cat "$out"
for package in $gated; do
  got=$(awk -v end="/$package" '$1 == "ok" && substr($2, length($2) - length(end) + 1) == end && match($0, /coverage: [0-9.]+%/) {
    print substr($0, RSTART + 10, RLENGTH - 11) }' "$out")
  [ -n "$got" ] || { echo "no coverage of $package was measured"; exit 1; }
  echo "coverage of $package: $got% (at least $min%)"
  awk -v got="$got" -v min="$min" 'BEGIN { exit got < min }'
done
