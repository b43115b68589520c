#!/bin/sh
# deb says remove or upgrade, rpm says 0 or 1. What is enabled is a link, also where nothing runs, as in an image.
set -e
case "${1:-}" in
upgrade | 1) exit 0 ;;
esac
command -v systemctl >/dev/null || exit 0
[ ! -d /run/systemd/system ] || systemctl stop trtllm_exporter.service
systemctl --quiet disable trtllm_exporter.service
