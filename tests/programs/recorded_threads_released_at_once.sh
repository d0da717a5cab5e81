#!/bin/sh
# SPDX-License-Identifier: MIT
# run-serial
# Thousands of recorded threads that begin to allocate at the same moment: the one that makes the
# recorder's file longer is often not running, and the others must not use up all processors
# while they wait for it. The limit is CPU time; awake, they took 45 s and more.
. "$(dirname "$0")/common.sh"
cd "$place" || exit 2
cat >released.c <<'END_OF_PROGRAM'
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
enum { THREADS = 2000, PAIRS = 300, SLOTS = 100, BLOCK_MAX = 4096 };
static pthread_barrier_t barrier;
static void *churn(void *seed)
{
    void *slots[SLOTS] = {NULL};
    uint64_t random = (uintptr_t)seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < PAIRS; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        unsigned slot = (random >> 40) % SLOTS;
        free(slots[slot]);
        if ((slots[slot] = malloc(16 + (random & 0xffff) % BLOCK_MAX)) == NULL)
            abort();
    }
    for (int i = 0; i < SLOTS; i++)
        free(slots[i]);
    return NULL;
}
int main(void)
{
    static pthread_t threads[THREADS];
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], &small, churn, (void *)(uintptr_t)(i + 1)) != 0)
            return 77;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    puts("done");
    return 0;
}
END_OF_PROGRAM
build released.c -o released -pthread
for how in "--rate 1" "--exact" "--exact --cpu"; do
    # shellcheck disable=SC2086 # two words
    (ulimit -t 4 && exec "$MEMOIR_TOOL" run $how --output out.mem ./released) >out 2>err
    code=$?
    [ $code -ne 77 ] || { echo "there can't be as many threads here: skipped"; exit 77; }
    [ $code -eq 0 ] && grep -q done out || fail "$how: exit code $code: $(tail -n 5 out err)"
    "$MEMOIR_TOOL" out.mem >told 2>&1 || fail "$how: $(cat told)"
    grep -q '602 K\|60[0-9] K\|600,' told || fail "$how: not 600,000 allocations: $(cat told)"
done
finish
