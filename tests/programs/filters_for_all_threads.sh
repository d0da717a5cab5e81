#!/bin/sh
# SPDX-License-Identifier: MIT
# Promise 21: a seccomp filter that one thread sets for all of them (TSYNC), and that kills for what a
# CPU profile does, ends no program, whatever its threads are doing at that moment: sleeping in a call
# that a profile cuts short, beginning, or ending.
. "$(dirname "$0")/common.sh"
settle
build "$root/tests/programs/filters_for_all_threads.c" -o target -pthread
"$place/target" 1 sb
[ $? -ne 77 ] || skip "no filter can be set"

for kinds in ssssss pppppp eeeeee bbbbbbb wsbb; do
    for clock in cpu wall; do
        MEMOIR=cpu:on,cpu.rate:5000,cpu.clock:$clock LD_PRELOAD=$MEMOIR_LIB ./target 20 $kinds \
            >out 2>&1 || fail "$clock: $(cat out)"
        quiet out
    done
done
finish
