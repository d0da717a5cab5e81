#!/bin/sh
# SPDX-License-Identifier: MIT
# not-emulated
# A thread that stands in the middle of one of our signal handlers while the rate of the CPU profile changes
# is sampled at the new rate; one that answers a scan for lost blocks when the next scan is under way changes
# nothing in that. A debugger holds the thread there.
. "$(dirname "$0")/common.sh"
: "${MEMOIR_TOOL:?}"
[ "$(uname -m)" = x86_64 ] || skip "the debugger knows the registers of x86-64 only"
build "$root/tests/programs/held_handlers.c" -o "$place/held"
build "$root/tests/programs/cpu_events.c" -o "$place/events" 2>/dev/null || skip "no perf events"
settle
scan() { # [STEPS]: up to four times, as a busy machine may hold the thread for longer
    for try in 1 2 3 4; do
        MEMOIR=heap:off preload timeout 60 ./held scan ${1-} >out 2>errors || fail "scan ${1-}: exit code $?: $(cat errors)"
        grep -q '^silent 1$' out && return
    done
    fail "a thread that answers after ${1-all} steps: $(cat out errors)"
}
scan
all=$(awk '/^steps/ {print $2}' out)
for part in 5 6 8; do
    scan $((all * part / 10))
done
if [ "$(./events allowed)" = all ]; then
    rm -f run*.memoir
    MEMOIR=heap:off,capture:$place/run.memoir preload timeout 60 ./held rate >out 2>errors || fail "rate: exit code $?: $(cat errors)"
    for file in run*.memoir; do
        "$MEMOIR_TOOL" export "$file" --metric cpu --format folded -o - 2>/dev/null
    done >samples
    awk '/;after / {sum += $NF} END {exit !(sum > 300000000)}' samples || fail "rate: $(cat samples)"
fi
finish
