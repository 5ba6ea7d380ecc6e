#!/usr/bin/env bash
# Compiles our C: addons (daemon/native/*/*.c and what of control/**/*.c says NAPI_MODULE_INIT, against the pinned Node's headers) and the host's helpers
# (other control/**/*.c, programs of their own), each into the `build/` beside it.
# HUTCH_MD5_LANES=1 hashes each upload alone, to measure what hashing them side by side gains.
# N-API only, so one build serves every later Node. Skipped when nothing changed.
set -euo pipefail
cd "$(dirname "$0")/../.."
headers=.runtime/node/include/node
source=daemon/native
out=$source/build
addons=$(grep -l NAPI_MODULE_INIT $(find control -name '*.c') | sort)
helpers=$(grep -L NAPI_MODULE_INIT $(find control -name '*.c') | sort)
command -v gcc >/dev/null || { echo 'hutch: gcc is missing; install it with: apt-get install -y gcc libc6-dev' >&2; exit 1; }
[ -f $headers/node_api.h ] || { echo 'hutch: Node headers are missing; run: bash images/setup/node.sh' >&2; exit 1; }
mkdir -p $out
exec 9>$out/.lock
flock 9
stamp=$({ cat $source/*/*.c $source/include/*.h daemon/node-internals/*.h $helpers $addons $(find control -name '*.h' | sort) "$0"; cat .runtime/node/.version 2>/dev/null; uname -m; echo "${HUTCH_MD5_LANES:-}"; } | sha256sum | cut -c1-16)
built() { echo "$(dirname "$1")/build/$(basename "$1" .c)"; }
whole=1
for file in $helpers; do [ -x "$(built "$file")" ] || whole=0; done
for file in $addons; do [ -f "$(built "$file").node" ] || whole=0; done
[ $whole = 1 ] && [ "$(cat $out/.stamp 2>/dev/null)" = "$stamp" ] && exit 0
flags=(-std=gnu11 -O2 -Wall -Wextra -Werror -Wl,-z,now)
[ -z "${HUTCH_MD5_LANES:-}" ] || flags+=("-DMD5_LANES=$HUTCH_MD5_LANES")
# Renamed into place: a process that has the old one mapped keeps it.
for file in $source/*/*.c; do
  name=$(basename "$file" .c)
  gcc "${flags[@]}" -fPIC -shared -fvisibility=hidden -I$headers -I$source/include -Idaemon/node-internals -o "$out/$name.node.new" "$file" -pthread
  mv "$out/$name.node.new" "$out/$name.node"
done
for file in $addons; do
  target=$(built "$file").node
  mkdir -p "$(dirname "$target")"
  gcc "${flags[@]}" -fPIC -shared -fvisibility=hidden -I$headers -I$source/include -o "$target.new" "$file" -pthread
  mv "$target.new" "$target"
done
for file in $helpers; do
  target=$(built "$file")
  mkdir -p "$(dirname "$target")"
  gcc "${flags[@]}" -o "$target.new" "$file" -lm
  mv "$target.new" "$target"
done
echo "$stamp" > $out/.stamp
