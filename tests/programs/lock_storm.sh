#!/bin/sh
# SPDX-License-Identifier: MIT
# not-emulated
# Waits for locks are counted while threads wait for locks of all kinds, end, are cancelled, load and unload
# a library with locks, fork and are interrupted (lock_storm.c): no crash, no hang, no lock that two threads
# have or that is lost; also while counting is started and stopped all the time.
# MEMOIR_STORM_SECONDS makes it longer.
. "$(dirname "$0")/common.sh"
cd "$place" || exit 2
build "$root/tests/programs/lock_storm.c" -o storm
build -shared -fPIC -Wl,-z,now -Wl,-z,relro "$root/tests/programs/lock_storm_library.c" -o library.so
seconds=${MEMOIR_STORM_SECONDS:-2}
for options in locks:on locks:on,cpu:on,cpu.rate:4000,heap.rate:0; do
    timeout $((seconds + 60)) env MEMOIR="$options,capture:$place/run.memoir,recorder:$place/state" LD_PRELOAD="$MEMOIR_LIB" \
        ./storm ./library.so "$seconds" >out 2>err || fail "exit code $? with $options: $(cat out err)"
    "$MEMOIR_TOOL" top --metric wait run.memoir >out 2>&1 || fail "$options: $(cat out)"
    grep -q ' locks ' out || fail "$options: no wait at the busiest lock: $(cat out)"
    rm -f run*.memoir state*
done
LD_PRELOAD=$MEMOIR_LIB ./storm ./library.so $((seconds + 1)) >out 2>err &
program=$! running="$running $program"
sleep 0.2
rounds=0
while kill -0 "$program" 2>/dev/null; do
    "$MEMOIR_TOOL" ctl "$program" locks start >answer 2>&1 && "$MEMOIR_TOOL" ctl "$program" locks stop >answer 2>&1 &&
        rounds=$((rounds + 1))
done
wait $program || fail "exit code $? while counting was started and stopped: $(cat out err)"
[ $rounds -gt 0 ] || fail "it was never started and stopped: $(cat answer)"
finish
