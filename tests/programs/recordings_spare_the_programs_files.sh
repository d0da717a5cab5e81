#!/bin/sh
# SPDX-License-Identifier: MIT
# timeout=300
# A program may close descriptors that it does not know and open files of its own under the same
# numbers: nothing that is recorded goes there. These files neither grow nor change, none is
# closed, and the program's exit status is its own. What is recorded is complete all the same.
. "$(dirname "$0")/common.sh"
: "${MEMOIR_TOOL:?}"
settle
build "$root/tests/programs/recordings_spare_the_programs_files.c" -o target
ulimit -n 1024 2>/dev/null || skip "1024 descriptors are not allowed"

try() { # WHAT COMMAND...
    what=$1
    shift
    rm -f data out
    "$@" >out 2>errors || fail "$what: exit code $?: $(cat out errors)"
}

for how in allocate fork; do
    for rate in 0 1K 512K; do
        try "$how, recorder, rate $rate" env "LD_PRELOAD=$MEMOIR_LIB" \
            "MEMOIR=recorder:$place/state,heap.rate:$rate" ./target data $how
        rm -f state*
        try "$how, capture, rate $rate" env "LD_PRELOAD=$MEMOIR_LIB" \
            "MEMOIR=capture:$place/run.memoir,heap.rate:$rate,capture.interval:100ms" ./target data $how
        try "$how, at its end, rate $rate" env "LD_PRELOAD=$MEMOIR_LIB" \
            "MEMOIR=dump.exit:on,dump.prefix:$place/end,heap.rate:$rate" ./target data $how
    done
    try "$how, run" "$MEMOIR_TOOL" run -o run.memoir ./target data $how
    try "$how, run, exact" "$MEMOIR_TOOL" run --exact -o run.memoir ./target data $how
    try "$how, HEAPPROFILE" env "LD_PRELOAD=$MEMOIR_LIB" "HEAPPROFILE=$place/heap" ./target data $how
done
try 'run, CPU' "$MEMOIR_TOOL" run --cpu -o run.memoir ./target data burn
try CPUPROFILE env "LD_PRELOAD=$MEMOIR_LIB" "CPUPROFILE=$place/cpu" ./target data burn

# It is opened again under another number, so that nothing is missing after the worst end.
rm -f data
"$MEMOIR_TOOL" run --exact -o killed.memoir ./target data kill >out 2>errors
code=$?
[ $code -eq 137 ] || fail "killed: exit code $code: $(cat out errors)"
! grep -q 'recorder file' errors || fail "killed: $(cat errors)"
"$MEMOIR_TOOL" top killed.memoir >out 2>&1 || fail "killed: $(cat out)"
grep -q 'many' out && ! grep -q 'not sampled' out || fail "killed, some stacks are missing: $(cat out)"
finish
