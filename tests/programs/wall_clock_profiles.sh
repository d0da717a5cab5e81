#!/bin/sh
# SPDX-License-Identifier: MIT
# not-emulated run-serial
# A profile of all time: threads that wait are seen, with what they wait in, for as long as the program
# itself says that they did. Waits are not cut short. By `memoir run --wall`, `memoir cpu PID --wall`,
# CPUPROFILE_REALTIME and the option cpu.clock; after kill -9, too.
. "$(dirname "$0")/common.sh"
need python3
: "${MEMOIR_TOOL:?}"
cat >"$place/waits.c" <<'END'
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
static volatile unsigned long sum;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ends[2];
static double turns = 1;
static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}
__attribute__((noinline)) void burn(double seconds)
{
    for (double end = now() + seconds; now() < end;)
        for (int i = 0; i < 10000; i++)
            sum += i;
}
__attribute__((noinline)) void wait_in_sleep(double seconds)
{
    struct timespec time = {(time_t)seconds, (seconds - (time_t)seconds) * 1e9};
    if (nanosleep(&time, NULL) != 0)
        puts("nanosleep is cut short");
    __asm__ volatile("" ::: "memory");
}
__attribute__((noinline)) void wait_in_lock(void)
{
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
}
__attribute__((noinline)) void wait_in_read(void)
{
    char byte;
    if (read(ends[0], &byte, 1) != 1)
        puts("read is cut short");
}
__attribute__((noinline)) void wait_for_semaphore(double seconds)
{
    sem_t semaphore;
    struct timespec until;
    sem_init(&semaphore, 0, 0);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)seconds + 1;
    if (sem_timedwait(&semaphore, &until) != -1 || errno != ETIMEDOUT)
        puts("sem_timedwait is cut short");
}
static double spent[5];
#define TIMED(place, call)         \
    do {                           \
        double from = now();       \
        call;                      \
        spent[place] += now() - from; \
    } while (0)
static void *locker(void *unused)
{
    prctl(PR_SET_NAME, "locker");
    TIMED(0, wait_in_lock());
    return unused;
}
static void *reader(void *unused)
{
    prctl(PR_SET_NAME, "reader");
    TIMED(1, wait_in_read());
    return unused;
}
static void *sleeper(void *unused)
{
    prctl(PR_SET_NAME, "sleeper");
    for (int i = 0; i < 10 * turns; i++) {
        TIMED(2, burn(0.02));
        TIMED(3, wait_in_sleep(0.08));
    }
    return unused;
}
static void *semaphore(void *unused)
{
    prctl(PR_SET_NAME, "semaphore");
    TIMED(4, wait_for_semaphore(turns));
    return unused;
}
int main(int count, char **words)
{
    static void *(*const starts[4])(void *) = {locker, reader, sleeper, semaphore};
    pthread_t threads[4];
    if (count > 1)
        turns = atof(words[1]);
    if (pipe(ends) != 0)
        return 2;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, starts[i], NULL);
    burn(0.5 * turns);
    wait_in_sleep(0.5 * turns);
    pthread_mutex_unlock(&lock);
    if (write(ends[1], "x", 1) != 1)
        return 2;
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    printf("locker.wait_in_lock %.3f\nreader.wait_in_read %.3f\nsleeper.burn %.3f\n"
           "sleeper.wait_in_sleep %.3f\nsemaphore.wait_for_semaphore %.3f\n",
           spent[0], spent[1], spent[2], spent[3], spent[4]);
    fflush(stdout);
    if (count > 2)
        raise(SIGKILL);
    return 0;
}
END
build "$place/waits.c" -o "$place/waits"
settle
cat >judge.py <<'END'
"""judge.py TRUTH FOLDED: compares seconds by thread and function."""
import sys
truth = dict(line.split() for line in open(sys.argv[1]) if "." in line)
found = dict.fromkeys(truth, 0)
for line in open(sys.argv[2]):
    stack, value = line.rsplit(" ", 1)
    for name in found:
        thread, function = name.split(".")
        if stack.startswith(thread + ";") and function in stack.split(";"):
            found[name] += float(value) / 1e9
wrong = [(name, found[name], float(truth[name])) for name in truth
         if abs(found[name] - float(truth[name])) > 0.08 + 0.12 * float(truth[name])]
sys.exit("found, true: %s" % wrong if wrong else 0)
END
judge() { # FILE
    rm -f folded
    for thread in locker reader sleeper semaphore; do
        "$MEMOIR_TOOL" export "$1" --metric wall --thread $thread --format folded -o one 2>message ||
            fail "$what: $(cat message)"
        sed "s/^/$thread;/" one >>folded
    done
    python3 judge.py truth folded 2>message || fail "$what: $(cat message)"
    ! grep 'cut short' truth || fail "$what: a wait"
}

what='memoir run --wall'
"$MEMOIR_TOOL" run --wall --no-summary -o run.memoir ./waits >truth 2>errors || fail "$what: $(cat errors)"
judge run.memoir
what='1,000 samples a second'
MEMOIR=cpu:on,cpu.clock:wall,cpu.rate:1000,capture:$place/fast.memoir preload ./waits >truth 2>errors
quiet errors
judge fast.memoir
what='killed'
MEMOIR=cpu:on,cpu.clock:wall,recorder:$place/state preload ./waits 1 killed >truth 2>/dev/null
judge state

what=CPUPROFILE_REALTIME
CPUPROFILE=$place/real.prof CPUPROFILE_REALTIME=1 preload ./waits >truth 2>errors || fail "$what: $(cat errors)"
! grep -q REALTIME errors || fail "$what: $(cat errors)"
"$MEMOIR_TOOL" top real.prof 2>&1 | grep -q 'futex_wait\|lll_lock_wait' || fail "$what: $("$MEMOIR_TOOL" top real.prof)"

what='memoir cpu --wall'
LD_PRELOAD=$MEMOIR_LIB ./waits 4 >truth 2>errors &
waits=$!
sleep 0.5
"$MEMOIR_TOOL" cpu $waits --wall -d 1s -o cpu.memoir >out 2>message || fail "$what: $(cat message)"
grep -q 'waiting included' out && grep -Eq 'libc_read|read' out || fail "$what: $(cat out)"
"$MEMOIR_TOOL" cpu $waits -d 300ms -o cpu2.memoir >out 2>message || fail "$what: $(cat message)"
! grep -q 'waiting included' out || fail "CPU time after it: $(cat out)"
kill $waits
wait $waits 2>/dev/null
finish
