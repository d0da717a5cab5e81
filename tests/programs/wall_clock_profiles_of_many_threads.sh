#!/bin/sh
# SPDX-License-Identifier: MIT
# not-emulated run-serial
# A profile of all time interrupts waiting threads. However many there are, and at whatever rate,
# the program must go on: at 10,000 samples a second 100 threads made it 130 times slower, 1,000
# stopped it. The limit is CPU time. What the threads waited is told all the same.
. "$(dirname "$0")/common.sh"
: "${MEMOIR_TOOL:?}"
cat >"$place/crowd.c" <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change = PTHREAD_COND_INITIALIZER;
static int over;
static double waited;
static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}
__attribute__((noinline)) void *wait_for_the_end(void *unused)
{
    double from = now();
    pthread_mutex_lock(&lock);
    while (!over)
        pthread_cond_wait(&change, &lock);
    waited += now() - from;
    pthread_mutex_unlock(&lock);
    return unused;
}
int main(int count, char **words)
{
    int threads = atoi(words[1]);
    pthread_t *ids = calloc(threads, sizeof *ids);
    pthread_attr_t small;
    volatile unsigned long sum = 0;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 << 10);
    for (int i = 0; i < threads; i++)
        if (pthread_create(&ids[i], &small, wait_for_the_end, NULL) != 0)
            _exit(77);
    for (double end = now() + 1; now() < end;)
        for (unsigned i = 0; i < 100000000; i++)
            sum += i;
    pthread_mutex_lock(&lock);
    over = 1;
    pthread_cond_broadcast(&change);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    printf("%.0f\n", waited);
    return 0;
}
END
build "$place/crowd.c" -o "$place/crowd"
settle
for threads in 100 2000; do
    what="$threads threads"
    (ulimit -t 12 && MEMOIR=cpu:on,cpu.clock:wall,cpu.rate:10000,capture:$place/out.memoir preload ./crowd $threads) >truth 2>errors
    code=$?
    [ $code -ne 77 ] || skip "there can't be as many threads here"
    [ $code -eq 0 ] || { fail "$what: exit code $code: $(cat errors)"; continue; }
    quiet errors
    "$MEMOIR_TOOL" export out.memoir --metric wall --format folded -o folded 2>message || fail "$what: $(cat message)"
    awk -v truth="$(cat truth)" '/wait_for_the_end/ { sum += $NF / 1e9 }
        END { if (sum < 0.9 * truth || sum > 1.1 * truth) { print sum " s are told of " truth; exit 1 } }' \
        folded || fail "$what"
done
finish
