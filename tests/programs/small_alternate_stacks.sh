#!/bin/sh
# SPDX-License-Identifier: MIT
# Promises 17 and 18: a program whose alternate stack for signals is too small for our handlers, or for
# any, is neither ended nor written to by a call from outside, a dump by a signal or its end by one.
. "$(dirname "$0")/common.sh"
settle
build "$root/tests/programs/small_alternate_stacks.c" -o target

begins() { # SIZE OPTIONS
    rm -f out stop
    MEMOIR=$2 LD_PRELOAD=$MEMOIR_LIB ./target "$1" >out 2>&1 &
    target=$!
    for _ in $(seq 100); do
        grep -q ready out 2>/dev/null && break
        grep -q refused out 2>/dev/null && skip "the kernel takes no stack of $1 bytes"
        sleep 0.1
    done
}

ends() { # CODE WHAT
    wait "$target"
    got=$?
    [ "$got" -eq "$1" ] || fail "$2: exit code $got: $(cat out)"
}

for size in 16384 8192 4096 3000 2048; do
    begins "$size" dump.prefix:d,dump.signal:12
    "$MEMOIR_TOOL" ctl "$target" stats >said 2>&1 || fail "$size bytes: $(cat said)"
    kill -12 "$target"
    for _ in $(seq 100); do
        ls d-*signal* >/dev/null 2>&1 && break
        sleep 0.1
    done
    touch stop
    ends 0 "$size bytes"
    ls d-*signal* >/dev/null 2>&1 || fail "$size bytes: no dump"
    rm -f d-*
done
begins 2048 capture:c.memoir
kill -TERM "$target"
ends 143 'the end by a signal'
"$MEMOIR_TOOL" top c.memoir >said 2>&1 || fail "the capture: $(cat said)"
finish
