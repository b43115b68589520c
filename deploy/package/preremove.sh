#!/bin/sh
# deb passes remove or upgrade, rpm 0 or 1. Disabling removes a link, which exists even if nothing runs, as in an image.
set -e
case "${1:-}" in
upgrade | 1) exit 0 ;;
esac
command -v systemctl >/dev/null || exit 0
[ ! -d /run/systemd/system ] || systemctl stop trtllm_exporter.service
systemctl --quiet disable trtllm_exporter.service
