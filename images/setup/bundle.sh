#!/usr/bin/env bash
# The runtime bundle that goes into every sandbox; assembled again when anything it is made of has changed.
set -euo pipefail
umask 022
cd "$(dirname "$0")/../.."
stamp=$(
  { find daemon shared images/runtime -type f -print0 | sort -z | xargs -0 sha256sum
    sha256sum package-lock.json .runtime/node/.version; echo "${HUTCH_BUNDLE_PLAIN:-}"; } | sha256sum | cut -c1-16
)
[ "$(cat .runtime/bundle/.inputs 2>/dev/null)" = "$stamp" ] && exit 0
PATH="$PWD/.runtime/node/bin:$PATH" exec node images/runtime/main.ts --inputs "$stamp"
