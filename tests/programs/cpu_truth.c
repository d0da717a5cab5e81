/* SPDX-License-Identifier: MIT */
/*
 * helper: a program that knows where its CPU time goes, built to mislead a profiler. At the end a
 * line for each function on standard output, its name and its nanoseconds by the clocks of the
 * threads; then "user NS" and "system NS" of the process.
 *
 * THREADS 0: the work is the first thread's, which has not ended when the profile is written.
 *
 *   cpu_truth shares THREADS MS   ten functions in shares of 1 to 10 of 55
 *   cpu_truth mixed THREADS MS    the same functions, system calls and page faults, at random
 *   cpu_truth blocks THREADS MS   a little work, a little sleep
 *   cpu_truth short THREADS N     N times THREADS threads that live for 20 us to 3 ms
 *   cpu_truth waits THREADS MS    for MS milliseconds on the wall; lines "burn NS" and
 *                                 "wait_in_sleep NS" tell time on the wall, for all threads
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "tests/programs/cpu_burners.h"

enum { CALLS = PARTS, FAULTS, BURN, WAIT, KINDS, THREADS_MAX = 256 };
static const char *const names[KINDS] = {
    "part_1", "part_2", "part_3",  "part_4",   "part_5",    "part_6", "part_7",
    "part_8", "part_9", "part_10", "in_calls", "in_faults", "burn",   "wait_in_sleep"};

static uint64_t spent[KINDS];
static __thread uint64_t own, state;
static const char *mode;
static uint64_t wanted_ns;

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t below(uint64_t limit)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % limit;
}

static void tell(int kind, uint64_t ns)
{
    __atomic_fetch_add(&spent[kind], ns, __ATOMIC_RELAXED);
    own += ns;
}

static void part_told(int number, uint64_t ns)
{
    tell(number, ns);
}

__attribute__((noinline)) void in_calls(uint64_t ns)
{
    static char buffer[65536];
    uint64_t from = cpu_ns(), now = from;
    int zero = open("/dev/zero", O_RDONLY);
    for (; now - from < ns; now = cpu_ns())
        for (int i = 0; i < 4; i++)
            if (read(zero, buffer, sizeof buffer) < 0)
                abort();
    close(zero);
    tell(CALLS, now - from);
}

__attribute__((noinline)) void in_faults(uint64_t ns)
{
    enum { SIZE = 1 << 20 };
    uint64_t from = cpu_ns(), now = from;
    for (; now - from < ns; now = cpu_ns()) {
        char *pages = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        for (int i = 0; i < SIZE; i += 4096)
            pages[i] = 1;
        munmap(pages, SIZE);
    }
    tell(FAULTS, now - from);
}

__attribute__((noinline)) void burn(uint64_t ns)
{
    uint64_t wall_from = clock_ns(CLOCK_MONOTONIC);
    CPU_BURN(ns, 1);
    tell(BURN, clock_ns(CLOCK_MONOTONIC) - wall_from);
}

__attribute__((noinline)) void wait_in_sleep(uint64_t us)
{
    struct timespec time = {(time_t)(us / 1000000), (long)(us % 1000000) * 1000};
    uint64_t from = clock_ns(CLOCK_MONOTONIC);
    if (nanosleep(&time, NULL) != 0)
        puts("nanosleep is cut short");
    tell(WAIT, clock_ns(CLOCK_MONOTONIC) - from);
}

static void step(void)
{
    uint64_t part = below(PARTS + 2), us = 50 + below(3000) * (part + 1) / 6;
    if (strcmp(mode, "shares") == 0) {
        us = 2000 + below(6000); /* of no length that the kernel's ticks could keep step with */
        for (uint64_t i = 0; i < PARTS; i++)
            parts[i](us * 1000 * (i + 1) / 55);
    } else if (strcmp(mode, "blocks") == 0) {
        struct timespec time = {0, (long)(100 + below(2000)) * 1000};
        part %= PARTS;
        parts[part]((30 + below(100) * (part + 1)) * 1000);
        nanosleep(&time, NULL);
    } else if (strcmp(mode, "waits") == 0) {
        burn(below(20000) * 1000);
        wait_in_sleep(1 + below(80000));
    } else if (part < PARTS) {
        parts[part](us * 1000);
    } else if (part == CALLS) {
        in_calls(us * 1000);
    } else {
        in_faults(us * 1000);
    }
}

static void *run(void *argument)
{
    state = (uintptr_t)argument * 7919 + clock_ns(CLOCK_MONOTONIC);
    while (own < wanted_ns)
        step();
    return NULL;
}

static void *run_short(void *argument)
{
    state = (uintptr_t)argument * 7919 + clock_ns(CLOCK_MONOTONIC);
    uint64_t part = below(PARTS);
    parts[part]((20 + below(300) * (part + 1)) * 1000);
    return NULL;
}

static uint64_t ns_of(struct timeval time)
{
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_usec * 1000;
}

int main(int count, char **arguments)
{
    static pthread_t threads[THREADS_MAX];
    if (count < 4)
        return 2;
    mode = arguments[1];
    int wanted = atoi(arguments[2]), number = atoi(arguments[3]);
    int turns = strcmp(mode, "short") == 0 ? number : 1;
    wanted_ns = (uint64_t)number * 1000000;
    if (wanted == 0)
        run(NULL);
    for (int turn = 0; turn < turns; turn++) {
        for (int i = 0; i < wanted && i < THREADS_MAX; i++)
            pthread_create(&threads[i], NULL, turns > 1 ? run_short : run,
                           (void *)(intptr_t)(turn * wanted + i + 1));
        for (int i = 0; i < wanted && i < THREADS_MAX; i++)
            pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < KINDS; i++)
        if (spent[i] != 0)
            printf("%s %llu\n", names[i], (unsigned long long)spent[i]);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("user %llu\nsystem %llu\n", (unsigned long long)ns_of(usage.ru_utime),
           (unsigned long long)ns_of(usage.ru_stime));
    return 0;
}
