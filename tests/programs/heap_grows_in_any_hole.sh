#!/bin/sh
# SPDX-License-Identifier: MIT
# timeout=600
# The addresses around the heap are taken: blocks come from any hole that there is.
. "$(dirname "$0")/common.sh"
build "$root/tests/programs/heap_grows_in_any_hole.c" -o "$place/program"
ulimit -c 0
for options in "" heap:off heap.rate:1 heap.rate:0; do
    for kind in "" limit; do
        MEMOIR=$options LD_PRELOAD=$MEMOIR_LIB "$place/program" $kind >"$place/out" 2>&1
        code=$?
        [ $code -eq 0 ] ||
            fail "options '$options' ${kind:-full}: exit code $code: $(head -n 4 "$place/out")"
    done
done
finish
