#!/usr/bin/env bash
# Installs the debs of two releases on a clean Debian that boots systemd. Exit code 3 of machine.sh: this machine cannot boot one.
set -euo pipefail
cd "$(dirname "$0")/../.."
deb=$CACHE/deb as_root=''
mkdir -p "$deb"
[ "$(id -u)" = 0 ] || ! sudo -n true 2>/dev/null || as_root='sudo -n --preserve-env=DEBIAN_MIRROR,DEBIAN_SUITE,DEB_BASE,DEB_OLD,DEB_NEW'
code=0
DEB_BASE=$($as_root tools/deb/machine.sh base) || code=$?
if [ "$code" = 3 ] && [ "${CI:-}" != true ]; then echo 'e2e-deb: skipped'; exit 0; fi
[ "$code" = 0 ] || exit "$code"
make dist VERSION=0.1.0-rc.1 DIST="$deb/old" ARCHS="$(go env GOARCH)"
make dist VERSION=0.1.0 DIST="$deb/new" ARCHS="$(go env GOARCH)"
go test -c -tags e2e_deb -o "$deb/deb.test" ./tools/deb
export DEB_BASE DEB_OLD=$deb/old DEB_NEW=$deb/new
cd tools/deb
$as_root "$deb/deb.test" -test.v -test.timeout 15m
