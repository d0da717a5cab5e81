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

# visits OPTIONS COMMAND...: visits to the centre of a whole run, by callgrind
visits() {
    options=$1
    shift
    MEMOIR=heap:off$options LD_PRELOAD="$library" valgrind --tool=callgrind --compress-strings=no \
        --callgrind-out-file="$place/calls" "$@" >"$place/log" 2>&1 || {
        cat "$place/log" >&2
        return 1
    }
    awk '/^cfn=/ { at = $0 ~ /^cfn=central_(take|give|take_one)$/ }
        at && /^calls=/ { sub(/calls=/, ""); sum += $1 }
        END { print sum + 0 }' "$place/calls"
}
