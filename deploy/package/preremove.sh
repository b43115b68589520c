#!/bin/sh
# deb says remove or upgrade, rpm says 0 or 1.
set -e
case "${1:-}" in
upgrade | 1) exit 0 ;;
esac
[ -d /run/systemd/system ] || exit 0
systemctl disable --now trtllm_exporter.service
