#!/bin/sh
# An upgrade restarts what runs; a first installation starts nothing. A unit that does not come up again says so itself and
# is no reason to leave the package half installed.
set -e
[ -d /run/systemd/system ] || exit 0
systemctl daemon-reload
systemctl try-restart trtllm_exporter.service || true
