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

# ppoll may last longer than it was asked to, here by 0.6 %: a sleep that is made by it does not.
cat >late.c <<'END'
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask)
{
    struct timespec late = {0, 0};
    if (timeout != NULL) {
        long ns = timeout->tv_sec * 1000000000 + timeout->tv_nsec;
        late = (struct timespec){(ns + ns * 6 / 1000) / 1000000000, (ns + ns * 6 / 1000) % 1000000000};
    }
    return syscall(SYS_ppoll, fds, count, timeout == NULL ? NULL : &late, mask, 8);
}
END
cat >exact.c <<'END'
#include <stdio.h>
#include <time.h>
static long late_us(int until)
{
    struct timespec from, to, length = {1, 0};
    clock_gettime(CLOCK_MONOTONIC, &from);
    to = (struct timespec){from.tv_sec + 1, from.tv_nsec};
    clock_nanosleep(CLOCK_MONOTONIC, until ? TIMER_ABSTIME : 0, until ? &to : &length, NULL);
    clock_gettime(CLOCK_MONOTONIC, &to);
    return (to.tv_sec - from.tv_sec) * 1000000 + (to.tv_nsec - from.tv_nsec) / 1000 - 1000000;
}
int main(void)
{
    long least[2] = {1000000, 1000000};
    for (int i = 0; i < 8; i++) {
        long late = late_us(i % 2);
        least[i % 2] = late < least[i % 2] ? late : least[i % 2];
    }
    printf("%ld %ld\n", least[0], least[1]);
    return least[0] >= 5500 || least[1] >= 5500 || least[0] < 0 || least[1] < 0;
}
END
build -shared -fPIC late.c -o late.so
build exact.c -o exact
MEMOIR=cpu:on LD_PRELOAD="$MEMOIR_LIB $place/late.so" ./exact >out || fail "sleeps of a second are late by us: $(cat out)"

# A sleep until a time on a clock that is set meanwhile, here by 100 s, ends within a second of it.
cat >set.c <<'END'
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static time_t begun;
int clock_gettime(clockid_t clock, struct timespec *now)
{
    struct timespec true;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &true);
    begun = begun == 0 ? true.tv_sec : begun;
    int result = (int)syscall(SYS_clock_gettime, clock, now);
    now->tv_sec += clock == CLOCK_REALTIME && true.tv_sec > begun ? 100 : 0;
    return result;
}
END
cat >until.c <<'END'
#include <time.h>
int main(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 60;
    return clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, NULL);
}
END
build -shared -fPIC set.c -o set.so
build until.c -o until
MEMOIR=cpu:on LD_PRELOAD="$MEMOIR_LIB $place/set.so" timeout 20 ./until >out 2>&1 ||
    fail "a sleep whose clock was set: exit code $?: $(cat out)"

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
