/* SPDX-License-Identifier: MIT */
/*
 * How long many threads stand still for a scan (docs/LEAKS.md): stand THREADS BLOCKED SCANS.
 * THREADS threads sleep, each with a block. BLOCKED is `none`, `all` (each blocks all signals that
 * libc lets it block) or `libcs` (and the one that libc keeps for itself). Prints the milliseconds
 * of each scan, the shortest first.
 *
 *     cc -O2 -I. bench/stand.c -o build/bench/stand -Lbuild -Wl,-rpath,$PWD/build -lmemoir -pthread
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "include/memoir/memoir.h"

enum { STACK = 64 << 10, SCANS_MAX = 100, SETTLE_US = 300000 };

static const char *blocked;
static volatile unsigned asleep;

static void *sleep_on(void *argument)
{
    void *volatile block = malloc(64);
    unsigned long every = ~0ul;
    sigset_t all;
    sigfillset(&all);
    if (strcmp(blocked, "all") == 0)
        pthread_sigmask(SIG_SETMASK, &all, NULL);
    else if (strcmp(blocked, "libcs") == 0)
        syscall(SYS_rt_sigprocmask, SIG_SETMASK, &every, NULL, sizeof every);
    __atomic_fetch_add(&asleep, 1, __ATOMIC_RELAXED);
    for (;;)
        pause();
    return argument == block ? NULL : argument;
}

static int by_time(const void *one, const void *other)
{
    double difference = *(const double *)one - *(const double *)other;
    return difference < 0 ? -1 : difference > 0;
}

int main(int count, char **args)
{
    double stood_ms[SCANS_MAX];
    unsigned threads = count == 4 ? (unsigned)atoi(args[1]) : 0;
    int scans = count == 4 ? atoi(args[3]) : 0;
    pthread_attr_t attributes;
    if (threads == 0 || scans <= 0 || scans > SCANS_MAX) {
        fputs("usage: stand THREADS none|all|libcs SCANS\n", stderr);
        return 2;
    }
    blocked = args[2];
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK);
    for (unsigned i = 0; i < threads; i++) {
        pthread_t thread;
        if (pthread_create(&thread, &attributes, sleep_on, NULL) != 0) {
            fprintf(stderr, "stand: %u threads, and no more\n", i);
            return 1;
        }
    }
    while (asleep < threads)
        usleep(1000);
    usleep(SETTLE_US);
    for (int i = 0; i < scans; i++) {
        struct memoir_leaks leaks;
        if (!memoir_leaks(&leaks, sizeof leaks, NULL, NULL))
            return 1;
        stood_ms[i] = (double)leaks.stood_us / 1000;
    }
    qsort(stood_ms, (size_t)scans, sizeof stood_ms[0], by_time);
    printf("%u threads, blocked: %s; stood still, ms:", threads, blocked);
    for (int i = 0; i < scans; i++)
        printf(" %.1f", stood_ms[i]);
    puts("");
    fflush(stdout);
    _exit(0); /* 10,000 threads need no end */
}
