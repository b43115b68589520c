#!/bin/sh
# An upgrade restarts a running unit; a first installation starts nothing. If the unit fails to start, systemd reports it; the package
# must not be left half installed.
set -e
[ -d /run/systemd/system ] || exit 0
systemctl daemon-reload
systemctl try-restart trtllm_exporter.service || true
