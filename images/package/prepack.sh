#!/usr/bin/env bash
# What `npm pack` runs before it packs: everything the package carries is built and put into dist/.
# What it prints goes to the standard error: `npm pack --json` answers on the other.
set -euo pipefail
cd "$(dirname "$0")/../.."
exec >&2
for script in apt node packages native bundle; do bash "images/setup/$script.sh"; done
bash images/busybox/build.sh
PATH="$PWD/.runtime/node/bin:$PATH" exec node images/package/main.ts
