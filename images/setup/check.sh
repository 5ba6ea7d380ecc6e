#!/usr/bin/env bash
# Everything that can be said about the code without running it, side by side; prints what is wrong, and a few figures.
set -uo pipefail
cd "$(dirname "$0")/../.."
PATH="$PWD/.runtime/node/bin:$PATH"
# Nothing here waits for anything: only a busy box is slow, and that is no mistake of the sources.
export TAP_TIMEOUT=600
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

start() {
  local name=$1
  shift
  ( "$@" >"$out/$name" 2>&1; echo $? >"$out/$name.rc" ) &
}
# Remembers what it has checked, which changes nothing but the time.
start types node node_modules/.bin/tsc -p . --incremental --tsBuildInfoFile .runtime/types.tsbuildinfo
start format node_modules/.bin/biome check --max-diagnostics=50 daemon control shared images test
start lint node node_modules/.bin/oxlint -c .oxlintrc.json daemon control shared images test
for test in test/house/*.test.ts; do
  [ ! -e "$test" ] || start "house-$(basename "$test" .test.ts)" node "$test"
done
wait

failed=0
for rc in "$out"/*.rc; do
  name=$(basename "$rc" .rc)
  if [ "$(cat "$rc")" = 0 ]; then echo "check: $name ok"; else failed=1; echo "check: $name FAILED"; cat "$out/$name"; fi
  # Figures that a test tells in passing.
  sed -n 's/^ *# \([0-9]\)/check:   \1/p' "$out/$name"
done
exit $failed
