#!/usr/bin/env bash
# The base images, once per checkout, into .runtime/images; a second run finds them by their recipe's digest.
set -euo pipefail
cd "$(dirname "$0")/../.."
for image in busybox base; do
  bash "images/$image/build.sh"
done
