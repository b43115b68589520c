#!/usr/bin/env bash
# raced.sh FOLDER...: lists the packages of the folders in which a race is possible, as it takes goroutines: those whose code or
# tests start some. Package replica is left out, because its fake time crashes the detector (tsan_rtl.cpp:346), and the tests of
# package collector cover it; e2e needs real servers.
set -euo pipefail
git grep -lE '^[[:space:]]*go [[:alpha:](]|\.Go\(|httptest\.New[A-Za-z]*Server' -- "${@/%//*.go}" |
  xargs -n 1 dirname | sort -u | grep -vE '/(e2e|replica)$'
