/* SPDX-License-Identifier: MIT */
/*
 * helper: walks_agree_with_gdb.sh runs it under gdb, which stops in `stop_here` and compares the
 * walk with its own: deep in recursion, in a callback of libc, in a thread, in a signal handler.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "base/object.h"
#include "lib/watch/unwind.h"

struct walk walk;

__attribute__((noinline)) void stop_here(void)
{
    __asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) void walk_and_stop(void)
{
    struct caller from = CALLER_HERE;
    unwind(&walk, &from, WALK_MAX);
    stop_here();
    __asm__ volatile("");
}

static __attribute__((noinline)) int dive(int left, int grow)
{
    volatile char *room = __builtin_alloca((size_t)grow % 100 + 8);
    char aligned[64] __attribute__((aligned(64)));
    __asm__ volatile("" : : "r"(aligned) : "memory");
    room[0] = (char)left;
    if (left == 0)
        walk_and_stop();
    else
        dive(left - 1, grow * 7 + left);
    return room[0];
}

static int compare(const void *a, const void *b)
{
    static int times;
    if (++times == 5)
        walk_and_stop();
    return *(const int *)a - *(const int *)b;
}

static void handler(int number)
{
    (void)number;
    walk_and_stop();
    __asm__ volatile("");
}

static void *thread(void *unused)
{
    dive(7, 1);
    return unused;
}

int main(void)
{
    int numbers[] = {5, 3, 8, 1, 9, 2, 7};
    pthread_t other;
    objects_refresh();
    dive(20, 3);
    qsort(numbers, sizeof numbers / sizeof *numbers, sizeof *numbers, compare);
    signal(SIGUSR1, handler);
    raise(SIGUSR1);
    return pthread_create(&other, NULL, thread, NULL) != 0 || pthread_join(other, NULL) != 0;
}
