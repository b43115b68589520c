#!/bin/sh
# test.sh [FLAG...] PACKAGE...: go test that counts the packages, with how many are left. FLAGS are those of go test.
set -eu
go=${GO:-go}
flags='' packages=''
for argument; do
	case $argument in -*) flags="$flags $argument" ;; *) packages="$packages $argument" ;; esac
done
# shellcheck disable=SC2086 # They are lists of words.
total=$("$go" list $packages | wc -l)
echo "Testing $total packages. The first run compiles them, for minutes; unchanged packages are not tested again."
# shellcheck disable=SC2086
{ "$go" test $flags $packages 2>&1 || echo "exit status $?"; } | awk -v total="$total" '
	/^exit status [0-9]+$/ { failed = $3; next }
	/^(ok|FAIL|---|\?)[ \t]+[^ \t]+\// && !/^---/ { printf "%d of %d: %s\n", ++done, total, $0; fflush(); next }
	{ print; fflush() }
	END { exit failed }'
