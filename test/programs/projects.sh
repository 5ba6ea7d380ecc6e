#!/bin/bash
# Prints the projects that a file system has files or bounds of, one a line, but 0, whose files are nobody's: projects.sh <mount point>
set -euo pipefail
xfs_quota -f -x -c 'report -p -n -N -b -i' "$1" | awk '$1 ~ /^#[1-9]/ { for (at = 2; at <= NF; at++) if ($at ~ /^[1-9][0-9]*$/) { print; next } }'
