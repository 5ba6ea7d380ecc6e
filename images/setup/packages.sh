#!/usr/bin/env bash
# npm packages, with native ones compiled against the pinned Node's own headers.
set -euo pipefail
umask 022
cd "$(dirname "$0")/../.."
# A link is shared from another checkout, which keeps it.
[ ! -L node_modules ] || exit 0
stamp=$(cat package.json package-lock.json .taprc .runtime/node/.version | sha256sum | cut -c1-16)
[ "$(cat .runtime/packages 2>/dev/null)" = "$stamp" ] && [ -d node_modules ] && exit 0
. images/setup/trust.sh
. images/setup/progress.sh
# Native modules are built by make, which cannot work in a path with spaces: install beside, then move here.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r package.json package-lock.json .npmrc .taprc "$work/"
cp -r .runtime/node "$work/node"
export PATH="$work/node/bin:$PATH" npm_config_nodedir="$work/node"
# Not `npm ci`: it refuses a lock without the packages of other platforms, which a registry need not have.
install() { (cd "$work" && npm install --no-save --no-audit --no-fund --loglevel=http </dev/null); }
progress 'installing npm packages' "$work/log" install || failed "$work/log" npm
# tap compiles its plugin set (.taprc leaves the TypeScript one out: Node strips types itself).
plugins() { (cd "$work" && npx tap build </dev/null); }
progress 'building the test runner' "$work/log" plugins || failed "$work/log" tap
rm -rf node_modules
mv "$work/node_modules" node_modules
echo "$stamp" > .runtime/packages
