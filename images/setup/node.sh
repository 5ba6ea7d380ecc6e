#!/usr/bin/env bash
# Fetches the pinned Node (binary and headers) from the npm registry into .runtime/node.
# The same binary runs the host and goes into every sandbox.
set -euo pipefail
umask 022
cd "$(dirname "$0")/../.."
version=24.21.0
case "$(uname -m)" in x86_64) arch=x64 ;; aarch64) arch=arm64 ;; *) echo "hutch: no Node build for $(uname -m)" >&2; exit 1 ;; esac
[ "$(cat .runtime/node/.version 2>/dev/null)" = "$version-$arch" ] && exit 0
command -v npm >/dev/null || { echo 'hutch: npm is missing; install it with: apt-get install -y npm' >&2; exit 1; }
. images/setup/trust.sh
. images/setup/progress.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fetch() { (cd "$work" && npm pack --loglevel=http "node-linux-$arch@$version" && tar xzf node-linux-*.tgz); }
progress "fetching Node $version from the npm registry" "$work/log" fetch || failed "$work/log" npm
mkdir -p .runtime
rm -rf .runtime/node.new
cp -r "$work/package" .runtime/node.new
# npm reads its own launcher through env, so the system's npm runs under this Node once it is first on the PATH.
chmod +x .runtime/node.new/bin/node
echo "$version-$arch" > .runtime/node.new/.version
rm -rf .runtime/node
mv .runtime/node.new .runtime/node
