#!/bin/sh
# SPDX-License-Identifier: MIT
# not-emulated
# Waits last as long as they were asked to while our signal comes, without and with a CPU profile, and a
# signal of the program's own ends them: see waits_last_as_long_as_asked.c. `memoir ctl` asked ten times
# does not end a sleep.
. "$(dirname "$0")/common.sh"
cd "$place" || exit 2
build "$root/tests/programs/waits_last_as_long_as_asked.c" -o waits
for options in '' cpu:on; do
    MEMOIR=$options LD_PRELOAD=$MEMOIR_LIB timeout 120 ./waits >out 2>&1 || fail "$? with '$options': $(cat out)"
done
for options in recorder:$place/state,heap.rate:0 heap:off; do
    MEMOIR=$options LD_PRELOAD=$MEMOIR_LIB timeout 120 ./waits first >out 2>&1 ||
        fail "$? with '$options': $(cat out)"
    rm -f state*
done
mkdir made
cd made || exit 2
MEMOIR=recorder:state,heap.rate:0 LD_PRELOAD=$MEMOIR_LIB timeout 120 ../waits made >../out 2>&1 ||
    fail "$? while a file is made: $(cat ../out)"
cd .. || exit 2

cat >sleeper.c <<'END'
#include <stdio.h>
#include <time.h>
#include <unistd.h>
int main(void)
{
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    unsigned left = sleep(4);
    clock_gettime(CLOCK_MONOTONIC, &to);
    long ms = (to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000;
    printf("%u %d\n", left, ms >= 4000);
    return 0;
}
END
build sleeper.c -o sleeper
LD_PRELOAD=$MEMOIR_LIB ./sleeper >out &
sleep 0.3
answered=0
for request in 1 2 3 4 5 6 7 8 9 10; do # a slow machine may not be done when the sleep is over
    "$MEMOIR_TOOL" ctl $! version >/dev/null 2>&1 && answered=$((answered + 1))
done
wait $!
[ $answered -gt 0 ] || fail "no request was answered"
[ "$(cat out)" = "0 1" ] || fail "sleep(4) asked ten times: $(cat out)"
finish
