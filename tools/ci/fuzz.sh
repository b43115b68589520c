#!/usr/bin/env bash
# fuzz.sh TIME 'EXCLUDED...' FOLDER...: runs every fuzz test of the folders for TIME each, with one test binary per package; `go test
# -fuzz` would build one per fuzz test.
set -euo pipefail
time=$1 not=$2
shift 2
mkdir -p "$CACHE/fuzz"
for dir in $(grep -rl --include='*_test.go' '^func Fuzz' "$@" | xargs -n 1 dirname | sort -u); do
  case " $not " in *" $dir "*) echo "fuzz $dir: left out"; continue ;; esac
  go test ${VET:-} -c -fuzz . -ldflags '-s -w' -o "$CACHE/fuzz/package.test" "./$dir"
  found=$(go env GOCACHE)/fuzz/$(go list "./$dir")
  for name in $(cd "$dir" && "$CACHE/fuzz/package.test" -test.list '^Fuzz'); do
    echo "fuzz $dir $name"
    (cd "$dir" && "$CACHE/fuzz/package.test" -test.run '^$' -test.fuzz "^$name\$" -test.fuzztime "$time" -test.fuzzcachedir "$found")
  done
done
