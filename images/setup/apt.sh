#!/usr/bin/env bash
# Installs the Debian packages Hutch stands on, and only those whose commands are missing.
# Needs no network and no root when nothing is missing; otherwise says exactly what is.
set -euo pipefail
PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"

# command package
needed='
runc runc
iptables iptables
iptables-restore iptables
ip iproute2
mmdebstrap mmdebstrap
gcc gcc
g++ g++
make make
python3 python3
npm npm
busybox busybox-static
setpriv util-linux
mkfs.ext4 e2fsprogs
wg wireguard-tools
wireguard-go wireguard-go
rg ripgrep
curl curl
jq jq
skopeo skopeo
umoci umoci
openssl openssl
pebble pebble
patchelf patchelf
'
# Installed when the archive has them; Hutch runs without.
optional='
crun crun
runsc runsc
'

missing_from() {
  local command package
  while read -r command package; do
    [ -z "$command" ] || command -v "$command" >/dev/null || echo "$package"
  done <<<"$1" | sort -u
}

missing=$(missing_from "$needed")
wanted=$(missing_from "$optional")
# An optional package is tried once: a note says which the archive does not have.
root=$(cd "$(dirname "$0")/../.." && pwd)
note="$root/.runtime/apt-optional"
if [ "$(cat "$note" 2>/dev/null)" = "$wanted" ]; then wanted=''; fi
[ -n "$missing$wanted" ] || exit 0

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  [ -n "$missing" ] || exit 0
  {
    echo "hutch: missing on this machine:" $missing
    if command -v apt-get >/dev/null; then
      echo "hutch: install it with: sudo apt-get update && sudo apt-get install -y" $missing
    else
      echo "hutch: these are Debian's names; install their like with your package manager, then run make again"
    fi
  } >&2
  exit 1
fi

cd "$root"
. images/setup/trust.sh
. images/setup/progress.sh
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
apt() {
  progress "$1" "$log" apt-get "${apt_options[@]}" -y --no-install-recommends "${@:2}" || failed "$log" apt-get
}
apt "looking for Debian packages" update
if [ -n "$missing" ]; then apt "installing Debian packages: $(echo $missing)" install $missing; fi
mkdir -p .runtime
for package in $wanted; do
  apt-get "${apt_options[@]}" install -y -qq --no-install-recommends "$package" >/dev/null 2>&1 ||
    echo "setup: $package is not to be had here; going on without it"
done
missing_from "$optional" > "$note"

missing=$(missing_from "$needed")
[ -z "$missing" ] || { echo "hutch: still missing after apt-get install:" $missing >&2; exit 1; }
