#!/bin/sh
# SPDX-License-Identifier: MIT
# not-emulated
# A thread that leaves a wait without a return from it, while our signal comes, keeps its mask of signals: see
# waits_left_early.c.
. "$(dirname "$0")/common.sh"
cd "$place" || exit 2
build "$root/tests/programs/waits_left_early.c" -o left
for options in '' cpu:on; do
    for how in jump cancel; do
        MEMOIR=$options LD_PRELOAD=$MEMOIR_LIB timeout 60 ./left $how >out 2>&1 ||
            fail "$? by $how with '$options': $(cat out)"
    done
done
finish
