#!/usr/bin/env bash
# python.sh ROOT [CA-FILE]: puts the Python programs of images/base/python into a root file system that has pip.
# Hutch works without them, and a network may have Debian's archive and no PyPI: what is missing then is said, not fatal.
set -euo pipefail
root=$1 ca=${2:-}
trap 'rm -f "$root"/tmp/{requirements,ca.crt,pip.log}' EXIT
cp "$(dirname "$0")/python" "$root/tmp/requirements"
# Of this machine's environment only the proxies and where PyPI is mirrored: its paths mean nothing in there.
kept=(PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8)
for name in http_proxy https_proxy no_proxy PIP_INDEX_URL; do
  if [ -n "${!name:-}" ]; then kept+=("$name=${!name}"); fi
done
if [ -n "$ca" ]; then cp "$ca" "$root/tmp/ca.crt"; kept+=(PIP_CERT=/tmp/ca.crt); fi
env -i "${kept[@]}" chroot "$root" pip install --quiet --require-hashes --only-binary :all: --no-deps --no-compile \
  --no-cache-dir --disable-pip-version-check --root-user-action ignore --retries 1 --timeout 20 -r /tmp/requirements \
  >"$root/tmp/pip.log" 2>&1 || {
  names=$(sed -n 's/^\([a-z][^=]*\)==.*/\1/p' "$root/tmp/requirements" | paste -sd' ')
  echo "hutch: the image base is without $names: $(grep . "$root/tmp/pip.log" | tail -n 1)"
}
