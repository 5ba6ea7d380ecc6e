#!/usr/bin/env bash
# The image `busybox`: one static binary and its links; made in milliseconds, for tests and tiny sandboxes.
set -euo pipefail
umask 022
cd "$(dirname "$0")/../.."
. images/setup/place.sh
busybox=$(command -v busybox)
recipe=$(recipe_digest images/busybox/build.sh "$busybox")
is_built busybox "$recipe" && exit 0
if ldd "$busybox" >/dev/null 2>&1; then
  echo "hutch: $busybox needs libraries; install the static one: apt-get install -y busybox-static" >&2
  exit 1
fi

mkdir -p "$images"
work=$(mktemp -d "$images/.new-XXXXXX")
trap 'rm -rf "$work"' EXIT
root="$work/rootfs"
mkdir -p "$root"/{bin,sbin,usr/bin,usr/sbin,usr/local/bin,etc,root,home,var,run,proc,sys,dev,.hutch}
mkdir -m 1777 "$root/tmp"
chmod 700 "$root/root"
cp "$busybox" "$root/bin/busybox"
"$busybox" --list-full | while read -r path; do
  [ "$path" = bin/busybox ] || ln -sf /bin/busybox "$root/$path" 2>/dev/null || { mkdir -p "$root/$(dirname "$path")"; ln -sf /bin/busybox "$root/$path"; }
done
# Node is a link into the bundle, whose pages every sandbox shares.
ln -s /.hutch/bin/node "$root/usr/local/bin/node"
printf 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n' >"$root/etc/passwd"
printf 'root:x:0:\nnogroup:x:65534:\n' >"$root/etc/group"
printf '127.0.0.1 localhost\n::1 localhost\n' >"$root/etc/hosts"
: >"$root/etc/resolv.conf"
printf '{"env": {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}, "workdir": "/", "user": ""}\n' >"$work/image.json"
find "$root" -exec touch -h -d @1700000000 {} +
place busybox "$recipe" "$recipe" "$work"
echo 'setup: image busybox built'
