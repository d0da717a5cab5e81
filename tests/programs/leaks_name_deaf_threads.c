/* SPDX-License-Identifier: MIT */
/* Loses ten blocks beside three threads that block all signals if there is an argument. Run by
 * leaks_name_deaf_threads.sh. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/programs/wipe.h"

enum { LOST = 10, DEAF = 3 };

static volatile unsigned asleep;
static void *volatile sink;

static void *sleep_on(void *argument)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    __atomic_fetch_add(&asleep, 1, __ATOMIC_RELAXED);
    for (;;)
        pause();
    return argument;
}

__attribute__((noinline)) static void lose(void)
{
    for (int i = 0; i < LOST; i++) {
        sink = malloc(100);
        sink = NULL;
    }
}

int main(int count, char **args)
{
    (void)args;
    pthread_t thread;
    for (int i = 0; i < DEAF && count > 1; i++)
        pthread_create(&thread, NULL, sleep_on, NULL);
    while (count > 1 && asleep < DEAF)
        usleep(1000);
    lose();
    wipe();
    return 0;
}
