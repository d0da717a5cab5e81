#!/bin/sh
# SPDX-License-Identifier: MIT
# not-emulated run-serial
#
# libprofiler.a: a static program has its CPU profile, by ProfilerStart and by CPUPROFILE, with the
# time of a thread that starts later; its malloc stays libc's. With libtcmalloc.a besides, both
# profiles are written, and each once.
. "$(dirname "$0")/common.sh"
archive=$(dirname "$MEMOIR_LIB")/compat/libprofiler.a
[ -e "$archive" ] || skip "there is no libprofiler.a"
cd "$place" || exit 2
ln -s "$MEMOIR_TOOL" google-pprof

cat >work.c <<'C'
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
int ProfilerStart(const char *file);
void ProfilerStop(void);
static volatile unsigned long sum;
static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}
#define WORK(name)                                   \
    __attribute__((noinline)) void name(void)        \
    {                                                \
        for (double end = now() + 1.5; now() < end;) \
            for (int i = 0; i < 100000; i++)         \
                sum += (unsigned long)i;             \
    }
WORK(in_main)
WORK(in_thread)
static void *run(void *unused)
{
    in_thread();
    return unused;
}
int main(int count, char **words)
{
    void *volatile block = malloc(123456);
    pthread_t thread;
    if (count > 1 && ProfilerStart(words[1]) == 0)
        return 3;
    pthread_create(&thread, NULL, run, NULL);
    in_main();
    pthread_join(thread, NULL);
    if (count > 1)
        ProfilerStop();
    free(block);
    return 0;
}
C
build -static work.c "$archive" -o alone
build -static work.c "$MEMOIR_STATIC" "$archive" -o both

# The share of samples below a function, in percent, of at least 200 of the 300 that there could be.
share() {
    ./google-pprof --text "$1" "$2" 2>errors >table || fail "pprof of $2: $(cat errors)"
    awk -v name="$3" '/^Total:/ { total = $2 } $6 == name { found = $4 }
        END { print total < 200 ? 0 : int(100 * found / total) }' table
}

# Both functions have half; the thread is found some tenths of a second after its start.
shares() {
    [ -s "$2" ] || { fail "$1 wrote no $2"; return; }
    first=$(share "$1" "$2" in_main) second=$(share "$1" "$2" in_thread)
    [ "$first" -ge 40 ] && [ "$first" -le 70 ] || fail "$1, $2: $first % in in_main: $(cat table)"
    [ "$second" -ge 30 ] || fail "$1, $2: $second % in in_thread: $(cat table)"
}

expect 0 ./alone called.prof 2>lines
[ "$(grep -c '^PROFILE: interrupts' lines)" -eq 1 ] || fail "alone: $(cat lines)"
shares ./alone called.prof
CPUPROFILE=set.prof expect 0 ./alone 2>lines
shares ./alone set.prof
HEAPPROFILE=heap CPUPROFILE=both.prof expect 0 ./both 2>lines
[ "$(grep -c '^PROFILE: interrupts' lines)" -eq 1 ] || fail "both: $(cat lines)"
shares ./both both.prof
grep -q '^heap profile: *[0-9]*: ' heap.0001.heap || fail "no heap profile: $(ls)"
expect 0 ./both started.prof 2>lines
shares ./both started.prof
finish
