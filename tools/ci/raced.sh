#!/usr/bin/env bash
# raced.sh [--tests] FOLDER...: lists the packages of the folders whose code starts goroutines, as a race takes some; with --tests the
# files of tests that start some in the other packages. Package replica is left out, because its fake time crashes the detector
# (tsan_rtl.cpp:346), and the tests of package collector cover it; e2e needs real servers.
set -euo pipefail
tests=
if [ "$1" = --tests ]; then tests=yes; shift; fi
starting=$(git grep -lE '^[[:space:]]*go [[:alpha:](]|\.Go\(|httptest\.New[A-Za-z]*Server' -- "${@/%//*.go}" | grep -vE '/(e2e|replica)/')
packages=$(grep -v '_test\.go$' <<<"$starting" | xargs -n 1 dirname | sort -u)
if [ -z "$tests" ]; then echo "$packages"; exit; fi
for file in $(grep '_test\.go$' <<<"$starting"); do
  grep -qxF "$(dirname "$file")" <<<"$packages" || echo "$file"
done
