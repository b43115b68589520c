#!/bin/sh
# An upgrade restarts what runs; a first installation starts nothing.
set -e
[ -d /run/systemd/system ] || exit 0
systemctl daemon-reload
systemctl try-restart trtllm_exporter.service
