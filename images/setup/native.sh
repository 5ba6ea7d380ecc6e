#!/usr/bin/env bash
# Compiles the daemon's C addons (daemon/native/*.c) against the pinned Node's headers into daemon/native/build/.
# N-API only, so one build serves every later Node. Skipped when nothing changed.
set -euo pipefail
cd "$(dirname "$0")/../.."
headers=.runtime/node/include/node
source=daemon/native
out=$source/build
command -v gcc >/dev/null || { echo 'hutch: gcc is missing; install it with: apt-get install -y gcc libc6-dev' >&2; exit 1; }
[ -f $headers/node_api.h ] || { echo 'hutch: Node headers are missing; run: bash images/setup/node.sh' >&2; exit 1; }
mkdir -p $out
exec 9>$out/.lock
flock 9
stamp=$({ cat $source/*.c $source/*.h "$0"; cat .runtime/node/.version 2>/dev/null; uname -m; } | sha256sum | cut -c1-16)
[ "$(cat $out/.stamp 2>/dev/null)" = "$stamp" ] && exit 0
for file in $source/*.c; do
  name=$(basename "$file" .c)
  # Renamed into place: a process that has the old one mapped keeps it.
  gcc -std=gnu11 -O2 -Wall -Wextra -Werror -fPIC -shared -fvisibility=hidden -Wl,-z,now \
    -I$headers -o "$out/$name.node.new" "$file" -pthread
  mv "$out/$name.node.new" "$out/$name.node"
done
echo "$stamp" > $out/.stamp
