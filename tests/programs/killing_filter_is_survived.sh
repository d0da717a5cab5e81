#!/bin/sh
# SPDX-License-Identifier: MIT
# Promise 21: under a seccomp filter that kills, a program with threads and forks needs no other
# system calls than under glibc's malloc, but for getpid; each feature needs those of docs/CONTROL.md,
# and no more.
. "$(dirname "$0")/common.sh"
settle
build "$root/tests/programs/killing_filter_is_survived.c" -o target
"$place/target" '' tell >/dev/null 2>&1
[ $? -ne 77 ] || skip "no filter can be set"

survives() { # FEATURE OPTIONS
    for round in 1 2 3; do
        MEMOIR=$2 LD_PRELOAD=$MEMOIR_LIB ./target "$1" >out 2>&1
        got=$?
        [ "$got" -eq 0 ] && continue
        MEMOIR=$2 LD_PRELOAD=$MEMOIR_LIB ./target "$1" tell >out 2>&1
        fail "'$1', options '$2': exit code $got: $(cat out)"
        break
    done
}

survives '' ''
survives '' control:off
survives exact heap.rate:0
survives exact heap.rate:4K
survives dump dump.prefix:p
"$MEMOIR_TOOL" top now.memoir >out 2>&1 || fail "the dump: $(cat out)"

# the filter does kill: the control of this test
MEMOIR=heap.rate:0 LD_PRELOAD=$MEMOIR_LIB ./target '' >out 2>&1
[ $? -eq 159 ] || fail "the filter lets everything pass"
finish
