#!/bin/sh
# SPDX-License-Identifier: MIT
# quick-too
# Hardened blocks (the option harden) hold what was written to them, are zero at first and used again late, in
# threads, in a child that was forked meanwhile, and in memory that is locked. A signal handler may end the program
# while it is in malloc or free.
. "$(dirname "$0")/common.sh"
build "$root/tests/programs/hardened_blocks.c" -pthread -o "$place/blocks"
for options in harden:on harden:on,cache:0 harden:on,heap:off; do
    MEMOIR=$options LD_PRELOAD=$MEMOIR_LIB "$place/blocks" >"$place/said" 2>&1 || {
        fail "$options: exit status $?"
        cat "$place/said"
    }
    [ ! -s "$place/said" ] || fail "$options: $(head -2 "$place/said")"
done
build "$root/tests/programs/hardened_exit.c" -o "$place/leaves"
for options in harden:on harden:on,heap.rate:0; do
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do
        MEMOIR=$options LD_PRELOAD=$MEMOIR_LIB "$place/leaves" $((1000 + i * 137)) >"$place/said" 2>&1 ||
            fail "$options: exit in a signal handler: status $?: $(head -1 "$place/said")"
    done
done
# The checks are seen failing: an ordinary block holds what was there before.
MEMOIR=harden:off LD_PRELOAD=$MEMOIR_LIB "$place/blocks" >/dev/null 2>&1 && fail "ordinary blocks passed"
finish
