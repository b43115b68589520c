#!/usr/bin/env bash
# Tests the Python files that are installed on servers, with a Python version that the servers use.
#
#   pytest.sh        install requirements.txt into .cache/pytest/PYTHON
#   pytest.sh ARGS   install requirements.txt and run pytest with ARGS
#
# Exit codes: those of pytest (0 passed, 1 failed), and 3 if this machine has no such interpreter.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

usable() { "$1" -c 'import ensurepip, sys, venv; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 12))' 2>/dev/null; }

find_python() {
  local candidate
  for candidate in ${PYTEST_PYTHON:-python3 python3.12 python3.11 python3.10}; do
    if usable "$candidate"; then echo "$candidate"; return 0; fi
  done
  return 1
}

python=$(find_python) || { echo "pytest.sh: skip: no Python of 3.10 to 3.12 with venv" >&2; exit 3; }
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
dir=$here/../../.cache/pytest/$version
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
stamp="$(sha256sum <"$here/requirements.txt" | cut -d ' ' -f 1) at $dir"
exec 9>"$dir/lock"
flock 9
if [ "$(cat "$dir/stamp" 2>/dev/null)" != "$stamp" ] || ! "$dir/venv/bin/python" -c 'import pytest' 2>/dev/null; then
  rm -rf "$dir/stamp" "$dir/venv"
  "$python" -m venv "$dir/venv"
  "$dir/venv/bin/python" -m pip --disable-pip-version-check install -q --retries 5 --only-binary :all: -r "$here/requirements.txt" >&2
  echo "$stamp" >"$dir/stamp"
fi
exec 9>&-
export PYTHONDONTWRITEBYTECODE=1
[ $# -gt 0 ] || exit 0
exec "$dir/venv/bin/python" -m pytest -q -p no:cacheprovider "$@"
