#!/bin/sh
# SPDX-License-Identifier: MIT
# A signal handler may end the program by exit while it is in malloc or free: the program ends as it wanted to,
# without a message, and its profiles are written.
. "$(dirname "$0")/common.sh"
settle
build "$root/tests/programs/exits_in_handlers.c" -o leaves

leave() { # NAME VALUE: 20 times, at other moments, with this variable
    i=0
    while [ $i -lt 20 ]; do
        i=$((i + 1))
        env "$1=$2" LD_PRELOAD="$MEMOIR_LIB" ./leaves $((1000 + i * 197)) >said 2>&1 ||
            fail "$1=$2: exit status $?"
        [ ! -s said ] || fail "$1=$2: $(head -1 said)"
    done
}

for options in heap.rate:0 harden:on harden:on,heap.rate:0 guard:full debug:on locks:on,cpu:on leak.lsan:on; do
    leave MEMOIR "$options"
done
leave MEMOIR heap.rate:0,dump.exit:on,dump.prefix:own
leave MALLOC_CONF prof:true,lg_prof_sample:0,prof_final:true,prof_prefix:theirs
for kind in own theirs; do
    got=$(find . -name "$kind*" | wc -l)
    [ "$got" -eq 20 ] || fail "$got of 20 profiles $kind"
done
i=0
while [ $i -lt 20 ]; do
    i=$((i + 1))
    MEMOIR=heap.rate:0,capture:c$i.memoir LD_PRELOAD=$MEMOIR_LIB ./leaves $((1000 + i * 197))
    HEAPPROFILE=$place/g$i LD_PRELOAD=$MEMOIR_LIB ./leaves $((1000 + i * 197)) 2>said
    [ -s g$i.0001.heap ] || fail "HEAPPROFILE $i: $(head -1 said)"
    "$MEMOIR_TOOL" top c$i.memoir >said 2>&1 || fail "capture $i: $(head -1 said)"
done
finish
