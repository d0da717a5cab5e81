#!/bin/sh
# SPDX-License-Identifier: MIT
# Under a limit of addresses (ulimit -v), memory that was used up and freed can be had again, in blocks of
# other sizes, too, whichever mode is on, and where every second block is kept.
. "$(dirname "$0")/common.sh"
build "$root/tests/programs/memory_comes_back_in_all_modes.c" -o "$place/again"
ulimit -v 100000 || skip "there is no limit of addresses"
for options in heap.rate:512K heap:off heap.rate:1K heap.rate:4K heap.rate:8K heap.rate:0 guard:sampled guard:sampled,guard.rate:1,heap.rate:1K guard:full debug:on debug:on,limit:8M harden:on; do
    percent=95
    case $options in guard*) percent=80 ;; esac # addresses of guarded blocks are not all given back
    MEMOIR=$options LD_PRELOAD=$MEMOIR_LIB "$place/again" $percent >"$place/out" 2>"$place/errors"
    got=$?
    [ $got -eq 0 ] || fail "$options: exit code $got: $(cat "$place/out") $(tail -n 2 "$place/errors")"
done
finish
