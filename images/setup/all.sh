#!/usr/bin/env bash
# All set-up: what is missing is installed and built. The images need none of our npm packages, so they are made meanwhile:
# one half mostly waits for the network while the other compresses and compiles.
set -euo pipefail
cd "$(dirname "$0")/../.."
bash images/setup/apt.sh
bash images/setup/node.sh
# A process group of its own, which ends as a whole when the other half fails or is interrupted.
set -m
bash images/setup/images.sh &
images=$!
set +m
trap 'kill -- "-$images" 2>/dev/null || true; wait "$images" 2>/dev/null || true' EXIT
bash images/setup/packages.sh
bash images/setup/native.sh
bash images/setup/bundle.sh
code=0
wait "$images" || code=$?
trap - EXIT
exit "$code"
