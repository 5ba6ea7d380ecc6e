#!/usr/bin/env bash
# npm packages, with native ones compiled against the pinned Node's own headers.
set -euo pipefail
cd "$(dirname "$0")/../.."
stamp=$(cat package.json package-lock.json .runtime/node/.version | sha256sum | cut -c1-16)
[ "$(cat .runtime/packages 2>/dev/null)" = "$stamp" ] && [ -d node_modules ] && exit 0
echo 'setup: installing npm packages'
PATH="$PWD/.runtime/node/bin:$PATH" npm_config_nodedir="$PWD/.runtime/node" npm ci --silent --no-audit --no-fund
# tap compiles its plugin set (.taprc leaves the TypeScript one out: Node strips types itself).
PATH="$PWD/.runtime/node/bin:$PATH" npx tap build >/dev/null 2>&1
echo "$stamp" > .runtime/packages
