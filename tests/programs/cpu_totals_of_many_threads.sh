#!/bin/sh
# SPDX-License-Identifier: MIT
# not-emulated run-serial
# Thousands of short threads that begin before the first one ends, more of them than samples can
# find: what they used is told all the same, for what they did, and not for what a thread did that
# began later. By the kernel's timers and by perf events.
. "$(dirname "$0")/common.sh"
: "${MEMOIR_TOOL:?}"
cat >"$place/crowd.c" <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static pthread_barrier_t barrier;
static double seconds;
static double used(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}
static void burn(double seconds)
{
    volatile unsigned sum = 0;
    while (used(CLOCK_THREAD_CPUTIME_ID) < seconds)
        for (int i = 0; i < 3000; i++)
            sum += i;
}
__attribute__((noinline)) void burn_in_the_crowd(void)
{
    burn(seconds);
    __asm__ volatile("" ::: "memory");
}
__attribute__((noinline)) void burn_later(void)
{
    burn(0.1);
    __asm__ volatile("" ::: "memory");
}
static void *early(void *unused)
{
    pthread_barrier_wait(&barrier);
    burn_in_the_crowd();
    return unused;
}
static void *late(void *unused)
{
    burn_later();
    return unused;
}
int main(int count, char **words)
{
    int threads = atoi(words[1]);
    seconds = atof(words[2]);
    pthread_t *ids = calloc(threads, sizeof *ids), id;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 << 10);
    pthread_barrier_init(&barrier, NULL, threads + 1);
    for (int i = 0; i < threads; i++)
        if (pthread_create(&ids[i], &small, early, NULL) != 0)
            _exit(77);
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    pthread_create(&id, NULL, late, NULL);
    pthread_join(id, NULL);
    printf("%.3f\n", used(CLOCK_PROCESS_CPUTIME_ID));
    return 0;
}
END
build "$place/crowd.c" -o "$place/crowd"
settle
crowd() { # THREADS SECONDS RATE
    what="$1 threads of $2 s at $3 Hz"
    MEMOIR=cpu:on,cpu.rate:$3,capture:$place/out.memoir preload ./crowd "$1" "$2" >truth 2>errors
    code=$?
    [ $code -ne 77 ] || skip "there can't be as many threads here"
    [ $code -eq 0 ] || { fail "$what: exit code $code: $(cat errors)"; return; }
    quiet errors
    "$MEMOIR_TOOL" export out.memoir --metric cpu --format folded -o folded 2>message || fail "$what: $(cat message)"
    awk -v truth="$(cat truth)" '{ sum += $NF / 1e9 } /burn_later/ { late += $NF / 1e9 }
        END {
            if (sum < 0.95 * truth - 0.05 || sum > 1.05 * truth + 0.05) { print sum " s are told of " truth; code = 1 }
            if (late > 0.35) { print late " s are told of 0.1 s that came later"; code = 1 }
            exit code
        }' folded || fail "$what"
}
crowd 500 0.003 100
crowd 500 0.003 1000
crowd 5000 0.0005 100
finish
