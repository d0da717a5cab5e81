#!/bin/sh
# SPDX-License-Identifier: MIT
# quick-too
# Hardened blocks (the option harden) hold what was written to them, are zero at first and used again late, in
# threads, in a child that was forked meanwhile, and in memory that is locked.
. "$(dirname "$0")/common.sh"
build "$root/tests/programs/hardened_blocks.c" -pthread -o "$place/blocks"
for options in harden:on harden:on,cache:0 harden:on,heap:off; do
    MEMOIR=$options LD_PRELOAD=$MEMOIR_LIB "$place/blocks" >"$place/said" 2>&1 || {
        fail "$options: exit status $?"
        cat "$place/said"
    }
    [ ! -s "$place/said" ] || fail "$options: $(head -2 "$place/said")"
done
# The checks are seen failing: an ordinary block holds what was there before.
MEMOIR=harden:off LD_PRELOAD=$MEMOIR_LIB "$place/blocks" >/dev/null 2>&1 && fail "ordinary blocks passed"
finish
