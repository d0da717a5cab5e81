#!/bin/sh
# SPDX-License-Identifier: MIT
# quick-too
# not-emulated
# A program that forbids itself the processor's time stamp counter (seccomp's strict mode, prctl(PR_SET_TSC)) goes
# on allocating in all modes that need no system call.
. "$(dirname "$0")/common.sh"
settle
build "$root/tests/programs/clock_is_forbidden.c" -o program
for word in strict tsc; do
    ./program "$word" || {
        echo "skipped $word: exit status $? without the library"
        continue
    }
    for options in heap:on heap.rate:0 heap.rate:1K heap:off locks:on,cpu:on capture:c.memoir; do
        MEMOIR=$options LD_PRELOAD=$MEMOIR_LIB ./program "$word" >said 2>&1 ||
            fail "$word, $options: exit status $?: $(head -1 said)"
    done
done
MEMOIR=harden:on LD_PRELOAD=$MEMOIR_LIB ./program tsc >said 2>&1 || fail "tsc, harden:on: exit status $?"
finish
