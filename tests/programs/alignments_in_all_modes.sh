#!/bin/sh
# SPDX-License-Identifier: MIT
# quick-too
# Promise 3: an alignment that is asked for is had through each face, whatever guards or checks the blocks.
. "$(dirname "$0")/common.sh"
settle
build -I"$root/include/memoir/compat" "$root/tests/programs/alignments_in_all_modes.c" -o target \
    "$MEMOIR_LIB" -Wl,-rpath,"$(dirname "$MEMOIR_LIB")"
try() { # VARIABLES...
    env "$@" timeout 60 ./target >said 2>&1 || fail "$*: $(sed 's/:.*//' said | sort | uniq -c | head -20)"
}
for options in heap.rate:512K heap.rate:0 harden:on debug:on guard:full guard:full,guard.tight:on \
    guard:sampled,guard.rate:1,heap.rate:1,guard.tight:on debug:on,guard:full,guard.tight:on \
    guard:full,guard.front:on; do
    try MEMOIR="$options"
done
try MALLOC_PAGE_FENCE=1 MEMOIR=debug:on,guard.tight:on
try MIMALLOC_GUARDED_SAMPLE_RATE=1 MEMOIR=guard.tight:on
try MALLOC_CONF=san_guard_small:1,san_guard_large:1 MEMOIR=guard.tight:on
finish
