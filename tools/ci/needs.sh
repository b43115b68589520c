#!/usr/bin/env bash
# needs.sh INSTALL... -- COMMAND...: runs COMMAND with the output of INSTALL in INSTALLED. If INSTALL exits with 3, this machine cannot
# run COMMAND: it is skipped, except in CI.
set -euo pipefail
install=()
while [ "$1" != -- ]; do install+=("$1"); shift; done
shift
code=0
INSTALLED=$(PIP_NO_CACHE_DIR=1 "${install[@]}") || code=$?
if [ "$code" = 3 ] && [ "${CI:-}" != true ]; then echo "skipped: $*"; exit 0; fi
[ "$code" = 0 ] || exit "$code"
export INSTALLED
exec "$@"
