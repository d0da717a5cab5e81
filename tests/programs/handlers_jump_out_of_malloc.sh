#!/bin/sh
# SPDX-License-Identifier: MIT
# not-emulated
# Promise 18: a signal handler that leaves malloc or free by siglongjmp, again and again, costs a few
# blocks and one message: no crash, no hang, no block that is refused or given out twice, and the
# profile can be written and read, in each mode, preloaded and static.
. "$(dirname "$0")/common.sh"
settle
source=$root/tests/programs/handlers_jump_out_of_malloc.c
build "$source" -o preloaded
build -static "$source" "$MEMOIR_STATIC" -o static

run() { # WAY OPTIONS THREADS
    library=
    [ "$1" = static ] || library=$MEMOIR_LIB
    MEMOIR=$2 LD_PRELOAD=$library "./$1" "$3" >out 2>&1
    got=$?
    [ "$got" -eq 0 ] || fail "$1, $2, $3 threads: exit code $got: $(head -n 5 out)"
    lines=$(grep -c '^memoir: a call of malloc or free was left: a signal handler jumped out' out)
    [ "$lines" -le 1 ] || fail "$1, $2, $3 threads: $lines messages"
    messages=$((messages + lines))
}

messages=0
for way in preloaded static; do
    for options in heap.rate:0 heap.rate:1K heap.rate:512K heap:off harden:on harden:on,heap.rate:0 \
        guard:full debug:on; do
        run "$way" "$options" 0
        run "$way" "$options" 2
    done
    for threads in 0 2; do
        run "$way" heap.rate:0,capture:c.memoir "$threads"
        "$MEMOIR_TOOL" top c.memoir >said 2>&1 || fail "$way, $threads threads: the capture: $(cat said)"
        rm -f c.memoir
    done
done
[ "$messages" -ge 4 ] || fail "only $messages runs noticed a jump"
finish
