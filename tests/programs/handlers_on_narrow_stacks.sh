#!/bin/sh
# SPDX-License-Identifier: MIT
# not-emulated
# Promise 18: malloc in a signal handler needs at most 1.5 KiB of an alternate stack. A sample that
# has no room there for its walk has one frame.
. "$(dirname "$0")/common.sh"
settle
source=$root/tests/programs/handlers_on_narrow_stacks.c
build "$source" -o preloaded
build -static "$source" "$MEMOIR_STATIC" -o static
# The loader, which is about to find out where malloc is, needs more than that.
export LD_BIND_NOW=1

for room in 1536 2048 3072 8192; do
    for options in heap.rate:0 heap.rate:1K heap.rate:512K; do
        MEMOIR=$options LD_PRELOAD=$MEMOIR_LIB ./preloaded "$room" >out 2>&1
        got=$?
        [ "$got" -ne 77 ] || skip "the kernel takes no stack with $room bytes beyond its own"
        [ "$got" -eq 0 ] || fail "preloaded, $room bytes, $options: exit code $got: $(cat out)"
        MEMOIR=$options ./static "$room" >out 2>&1
        got=$?
        [ "$got" -eq 0 ] || fail "static, $room bytes, $options: exit code $got: $(cat out)"
    done
done
finish
