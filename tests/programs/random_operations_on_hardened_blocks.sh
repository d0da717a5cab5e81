#!/bin/sh
# SPDX-License-Identifier: MIT
# Random operations with hardened blocks: contents, sizes and alignments are right, and no check of theirs
# speaks.
. "$(dirname "$0")/common.sh"
build -O2 "$root/tests/stress/random_operations.c" -o "$place/random"
for options in harden:on harden:on,cache:0 harden:on,heap.rate:4K; do
    MEMOIR=$options LD_PRELOAD=$MEMOIR_LIB "$place/random" --seed $$ --ops 300000 >"$place/said" 2>&1 ||
        fail "$options, seed $$: exit status $?: $(tail -n 2 "$place/said")"
    ! grep '^memoir' "$place/said" || fail "$options, seed $$: a line of ours"
done
finish
