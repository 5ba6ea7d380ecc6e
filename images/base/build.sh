#!/usr/bin/env bash
# The image `base`: Debian bookworm with the tools agents reach for, and the Node that hutchd runs on.
# The tree's digest is that of its archive, which depends on the packages alone (SOURCE_DATE_EPOCH).
# IMAGES_DIR: where it goes instead of .runtime/images; the npm package has this recipe too.
set -euo pipefail
umask 022
cd "$(dirname "$0")/../.."
. images/setup/place.sh
npm_version=11.19.1
recipe=$(recipe_digest images/base/build.sh images/base/packages images/base/python images/base/python.sh)
is_built base "$recipe" && exit 0
[ "$(id -u)" = 0 ] || { echo 'hutch: the image base is built by root; run make setup once as root' >&2; exit 1; }
for tool in mmdebstrap npm; do
  command -v $tool >/dev/null || {
    echo "hutch: $tool is missing, which the image base is built with; on Debian and Ubuntu: apt-get install -y $tool" >&2
    exit 1
  }
done
. images/setup/trust.sh
. images/setup/progress.sh

mkdir -p "$images"
work=$(mktemp -d "$images/.new-XXXXXX")
extra=$(mktemp -d)
trap 'rm -rf "$work" "$extra"' EXIT

# npm comes from its registry; node itself is a link into the bundle, whose pages every sandbox shares.
mkdir -p "$extra/usr/local/lib/node_modules" "$extra/usr/local/bin" "$extra/etc/apt/apt.conf.d" "$extra/.hutch"
fetch_npm() { (cd "$extra" && npm pack --loglevel=http "npm@$npm_version" </dev/null && tar xzf npm-*.tgz && rm npm-*.tgz); }
progress "fetching npm $npm_version for the image base" "$work/log" fetch_npm || failed "$work/log" npm
mv "$extra/package" "$extra/usr/local/lib/node_modules/npm"
rm -rf "$extra/usr/local/lib/node_modules/npm"/{docs,man}
chmod -R u=rwX,go=rX "$extra/usr/local/lib/node_modules/npm"
ln -s /.hutch/bin/node "$extra/usr/local/bin/node"
ln -s ../lib/node_modules/npm/bin/npm-cli.js "$extra/usr/local/bin/npm"
ln -s ../lib/node_modules/npm/bin/npx-cli.js "$extra/usr/local/bin/npx"
ln -s /usr/bin/python3 "$extra/usr/local/bin/python"
# apt drops to a user of its own, which takes capabilities that a sandbox's root does not have.
echo 'APT::Sandbox::User "root";' >"$extra/etc/apt/apt.conf.d/90hutch"
printf 'prefix=/usr/local\nupdate-notifier=false\nfund=false\n' >"$extra/usr/local/lib/node_modules/npm/npmrc"
# Everybody in a sandbox is root; pip need not say each time that this is unwise.
printf '[global]\nroot-user-action = ignore\ndisable-pip-version-check = true\n' >"$extra/etc/pip.conf"

# A bookworm host's own sources work where it is; elsewhere mmdebstrap's default mirror.
sources=(bookworm -)
if ! grep -q 'VERSION_CODENAME=bookworm' /etc/os-release; then sources=(bookworm - http://deb.debian.org/debian); fi
{
  for list in /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources; do
    if grep -qs 'VERSION_CODENAME=bookworm' /etc/os-release && [ -s "$list" ]; then cat "$list"; echo; break; fi
  done
} >"$work/sources"

# Python compiles a few of its own modules while it runs them, and those come out different each time.
volatile='/usr/share/python3 /usr/lib/python3/dist-packages/_distutils_hack'
# mmdebstrap leaves what apt was told in the image, where there is no such file.
aptopt=()
if [ -n "$ca_bundle" ]; then aptopt=(--aptopt="Acquire::https::CaInfo \"$ca_bundle\""); fi
export SOURCE_DATE_EPOCH=1700000000
# Debian marks its Python as its own, so that pip refuses to add to it. In a sandbox it is the tenant's.
build() {
  mmdebstrap --variant=minbase --mode=root --format=tar --include="$(grep -v '^#' images/base/packages | paste -sd,)" \
    "${aptopt[@]}" \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
    --dpkgopt='path-include=/usr/share/doc/*/copyright' --dpkgopt='path-exclude=/usr/share/locale/*' \
    --dpkgopt='path-exclude=/usr/lib/python3*/EXTERNALLY-MANAGED' \
    --customize-hook="copy-in \"$extra/usr\" \"$extra/etc\" \"$extra/.hutch\" /" \
    --customize-hook="bash \"$PWD/images/base/python.sh\" \"\$1\" \"$machine_ca\"" \
    --customize-hook='rm -f "$1/etc/apt/apt.conf.d/99mmdebstrap"' \
    --customize-hook='rm -f "$1/etc/hostname" "$1/etc/resolv.conf"; : >"$1/etc/resolv.conf"' \
    --customize-hook="for dir in $volatile; do find \"\$1\$dir\" -name __pycache__ -prune -exec rm -r {} +; done" \
    "${sources[@]}" <"$work/sources" >"$work/base.tar"
}
progress 'building the image base with mmdebstrap (a few minutes)' "$work/log" build || failed "$work/log" mmdebstrap
grep '^hutch: ' "$work/log" || true
digest=$(sha256sum "$work/base.tar" | cut -c1-32)
mkdir "$work/rootfs"
tar xf "$work/base.tar" -C "$work/rootfs" --numeric-owner --xattrs --exclude='./dev/*'
rm "$work/base.tar" "$work/log" "$work/sources"
cat >"$work/image.json" <<'JSON'
{"env": {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "SHELL": "/bin/bash"}, "workdir": "/root", "user": ""}
JSON
place base "$recipe" "$digest" "$work"
echo "setup: image base built ($digest)"
