#!/usr/bin/env bash
# The image `builder`: Debian bookworm with buildah. Builds run in machines of it. It is made on the first build, not by set-up.
# IMAGES_DIR: where it goes instead of .runtime/images; the npm package has this recipe too.
set -euo pipefail
umask 022
cd "$(dirname "$0")/../.."
. images/setup/place.sh
recipe=$(recipe_digest images/builder/build.sh images/builder/packages)
is_built builder "$recipe" && exit 0
[ "$(id -u)" = 0 ] || { echo 'hutch: the image builder is made by root' >&2; exit 1; }
command -v mmdebstrap >/dev/null || {
  echo 'hutch: mmdebstrap is missing, which the image builder is made with; on Debian and Ubuntu: apt-get install -y mmdebstrap' >&2
  exit 1
}
. images/setup/trust.sh
. images/setup/progress.sh

mkdir -p "$images"
work=$(mktemp -d "$images/.new-XXXXXX")
trap 'rm -rf "$work"' EXIT

# A bookworm host's own sources work where it is; elsewhere mmdebstrap's default mirror.
sources=(bookworm -)
if ! grep -q 'VERSION_CODENAME=bookworm' /etc/os-release; then sources=(bookworm - http://deb.debian.org/debian); fi
{
  for list in /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources; do
    if grep -qs 'VERSION_CODENAME=bookworm' /etc/os-release && [ -s "$list" ]; then cat "$list"; echo; break; fi
  done
} >"$work/sources"
aptopt=()
if [ -n "$ca_bundle" ]; then aptopt=(--aptopt="Acquire::https::CaInfo \"$ca_bundle\""); fi

# Names without a registry are images of the host, which are loaded beforehand; the rest are Docker Hub's, as everywhere.
mkdir -p "$work/etc/containers"
cat >"$work/etc/containers/registries.conf" <<'CONF'
unqualified-search-registries = ["docker.io"]
short-name-mode = "disabled"
CONF
export SOURCE_DATE_EPOCH=1700000000
build() {
  mmdebstrap --variant=minbase --mode=root --format=tar --include="$(grep -v '^#' images/builder/packages | paste -sd,)" \
    "${aptopt[@]}" \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
    --dpkgopt='path-include=/usr/share/doc/*/copyright' --dpkgopt='path-exclude=/usr/share/locale/*' \
    --customize-hook="copy-in \"$work/etc/containers/registries.conf\" /etc/containers" \
    --customize-hook='mkdir -p "$1/.hutch" "$1/build"' \
    --customize-hook='rm -f "$1/etc/apt/apt.conf.d/99mmdebstrap"' \
    --customize-hook='rm -f "$1/etc/hostname" "$1/etc/resolv.conf"; : >"$1/etc/resolv.conf"' \
    "${sources[@]}" <"$work/sources" >"$work/builder.tar"
}
progress 'making the image builder with mmdebstrap (a minute)' "$work/log" build || failed "$work/log" mmdebstrap
digest=$(sha256sum "$work/builder.tar" | cut -c1-32)
mkdir "$work/rootfs"
tar xf "$work/builder.tar" -C "$work/rootfs" --numeric-owner --xattrs --exclude='./dev/*'
rm -rf "$work/builder.tar" "$work/log" "$work/sources" "$work/etc"
cat >"$work/image.json" <<'JSON'
{"env": {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "SHELL": "/bin/sh"}, "workdir": "/build", "user": ""}
JSON
place builder "$recipe" "$digest" "$work"
echo "setup: image builder made ($digest)"
