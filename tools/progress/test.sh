#!/bin/sh
# test.sh [FLAG...] PACKAGE...: go test that counts the packages, with how many are left. FLAGS are those of go test, a value
# joined by "=".
set -eu
go=${GO:-go}
flags='' packages=''
for argument; do
	case $argument in -*) flags="$flags $argument" ;; *) packages="$packages $argument" ;; esac
done
# shellcheck disable=SC2086 # They are lists of words.
found=$("$go" list $packages)
total=$(echo "$found" | wc -l)
echo "Testing $total packages. The first run compiles them, for minutes; unchanged packages are not tested again."
# The shell reads line by line; an awk may keep what it reads until its buffer is full.
# shellcheck disable=SC2086
{ "$go" test $flags $packages 2>&1 || echo "go test failed: $?"; } | {
	tested=0 failed=0
	while IFS= read -r line; do
		case $line in
		"go test failed: "*) failed=${line##* } ;;
		"ok  	"*/* | "FAIL	"*/* | "?   	"*/*) tested=$((tested + 1)) && printf '%d of %d: %s\n' "$tested" "$total" "$line" ;;
		*) printf '%s\n' "$line" ;;
		esac
	done
	exit "$failed"
}
