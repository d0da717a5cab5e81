#!/bin/sh
# SPDX-License-Identifier: MIT
# helper: what the scripts here share. Set $tools to what is needed beside a compiler, then
# source it; it sets $root and $library, and makes $place, an empty folder that goes away.
set -eu
for tool in "${CC:-cc}" $tools; do
    command -v "$tool" >/dev/null || { echo "no $tool: skipped"; exit 77; }
done
root=${MEMOIR_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
library=${MEMOIR_LIB:-$root/build/libmemoir.so}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
