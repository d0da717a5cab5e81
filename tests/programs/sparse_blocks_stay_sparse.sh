#!/bin/sh
# SPDX-License-Identifier: MIT
#
# realloc of a large array of which few pages were written to takes no memory for the others, wherever
# it moves, and also beyond the number of blocks that the kernel can move (1,000 at a time).
. "$(dirname "$0")/common.sh"
build "$root/tests/programs/sparse_blocks_stay_sparse.c" -o "$place/sparse"
for options in heap.rate:512K heap:off heap.rate:0 harden:on; do
    for arrays in 4 1200; do
        (
            ulimit -t 60
            MEMOIR=$options LD_PRELOAD=$MEMOIR_LIB "$place/sparse" $arrays
        ) >"$place/out" 2>&1
        got=$?
        [ $got -eq 0 ] || fail "$options, $arrays arrays: exit code $got: $(tail -n 2 "$place/out")"
    done
done
finish
