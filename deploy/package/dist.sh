#!/usr/bin/env bash
# Builds a release into dist: for each architecture a tar.gz, a deb, an rpm and a CycloneDX SBOM, and SHA256SUMS of all files. Builds
# are reproducible: files have the time of the commit and a fixed order. `make dist` sets VERSION, LDFLAGS, NFPM, CYCLONEDX and OUT.
set -euo pipefail
cd "$(dirname "$0")/../.."
export LC_ALL=C TZ=UTC
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
MTIME=$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)
export SOURCE_DATE_EPOCH MTIME VERSION

rm -rf "$OUT"
mkdir -p "$OUT"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The program's own output is the same on every architecture.
go build -trimpath -buildvcs=false -o "$work/here" ./cmd/trtllm_exporter
{
  printf '.TH trtllm_exporter 1 "%s" "trtllm_exporter %s" "User Commands"\n' "${MTIME%T*}" "$VERSION"
  "$work/here" --help-man | sed -n '/^\.SH "NAME"/,$p' | sed '2s/$/ \\- Prometheus exporter for fleets of LLM servers/'
} | gzip -9n >"$work/trtllm_exporter.1.gz"
for shell in bash zsh; do
  "$work/here" --completion-script-$shell >"$work/completion.$shell"
done

for ARCH in ${ARCHS:-amd64 arm64}; do
  name=trtllm_exporter-$VERSION.linux-$ARCH
  DIR=$work/$name
  export ARCH DIR
  mkdir "$DIR"
  cp "$work/trtllm_exporter.1.gz" "$work"/completion.* "$DIR/"
  GOOS=linux GOARCH=$ARCH CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "$LDFLAGS" -o "$DIR/trtllm_exporter" ./cmd/trtllm_exporter
  "$CYCLONEDX" bin -json -noserial -notimestamp -version "v$VERSION" -output "$OUT/$name.cdx.json" "$DIR/trtllm_exporter" 2>"$work/said" || {
    cat "$work/said" >&2
    exit 1
  }
  for format in deb rpm; do
    said=$("$NFPM" package --config deploy/package/nfpm.yaml --packager "$format" --target "$OUT/" 2>&1) || {
      echo "$said" >&2
      exit 1
    }
  done
  cp LICENSE README.md CHANGELOG.md deploy/systemd/trtllm_exporter.service deploy/package/config.yml "$DIR/"
  chmod 0644 "$DIR"/*
  chmod 0755 "$DIR" "$DIR/trtllm_exporter"
  tar -C "$work" --sort=name --format=ustar --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -cf - "$name" |
    gzip -9n >"$OUT/$name.tar.gz"
done
cd "$OUT"
sha256sum -- *.deb *.rpm *.cdx.json *.tar.gz >SHA256SUMS
