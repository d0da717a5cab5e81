#!/bin/sh
# SPDX-License-Identifier: MIT
# quick-too
# A program's own function for stacks (jemalloc's experimental.hooks.prof_backtrace) is called from inside
# of malloc and allocates itself: the call that waits for it was not left, and its locks stay taken.
. "$(dirname "$0")/common.sh"
settle
cat >hook.c <<'END'
#include <jemalloc/jemalloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static unsigned calls;
static void hook(void **frames, unsigned *count, unsigned max)
{
    void *small = malloc(500), *large = malloc(100000);
    __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
    frames[0] = (void *)hook;
    *count = 1;
    free(large);
    free(small);
}
static void *work(void *unused)
{
    for (int i = 0; i < 5000; i++)
        free(memset(malloc(100 + i % 3000), 1, 100));
    return unused;
}
int main(void)
{
    void (*ours)(void **, unsigned *, unsigned) = hook;
    pthread_t threads[3];
    if (mallctl("experimental.hooks.prof_backtrace", NULL, NULL, &ours, sizeof ours) != 0)
        return 2;
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    printf("%u\n", calls);
    return 0;
}
END
build -I"$root/include/memoir/compat" hook.c -o hook "$MEMOIR_LIB" -Wl,-rpath,"$(dirname "$MEMOIR_LIB")"
ulimit -c 0
for options in heap.rate:0 heap.rate:0,harden:on heap.rate:0,debug:on; do
    MEMOIR=heap:on,$options timeout 60 ./hook >out 2>said || fail "$options: exit status $?: $(cat said)"
    [ ! -s said ] || fail "$options: $(cat said)"
    [ "$(cat out)" -ge 15000 ] || fail "$options: called $(cat out) times"
done
finish
