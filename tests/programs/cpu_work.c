/* SPDX-License-Identifier: MIT */
/*
 * helper: a program that knows where its CPU time goes. Each thread spends it in ten functions in
 * known shares, counted by its own clock. At the end a line for each function on standard output:
 * its name and its nanoseconds; then "user NS" and "system NS" of the process.
 *
 *   cpu_work shares THREADS MS      10 functions, MS milliseconds of CPU time a thread
 *   cpu_work short COUNT US         COUNT threads, one after the other, of US microseconds each
 *   cpu_work system MS              half of the time in system calls
 *   cpu_work calls FILE MS          work, ProfilerStart(FILE), work, ProfilerStop, work
 *   cpu_work fork MS [exec]         a child and its parent; the child may exec this program
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/programs/cpu_burners.h"

int ProfilerStart(const char *path) __attribute__((weak));
void ProfilerStop(void) __attribute__((weak));

static uint64_t spent[PARTS + 1]; /* by all threads; the last in system calls */
static int milliseconds;

static void part_told(int number, uint64_t ns)
{
    __atomic_fetch_add(&spent[number], ns, __ATOMIC_RELAXED);
}

/* Shares of 1 to 10 of 55. */
__attribute__((noinline)) void spend_all(uint64_t ns)
{
    for (int i = 0; i < PARTS; i++)
        parts[i](ns * (uint64_t)(i + 1) / 55);
}

static void *run(void *argument)
{
    uint64_t random = (uint64_t)(uintptr_t)pthread_self();
    for (int us = 0; us < milliseconds * 1000;) {
        /* of no length that the kernel's ticks could keep step with */
        random = random * 6364136223846793005u + 1442695040888963407u;
        int next = 2000 + (int)(random >> 40) % 6000;
        spend_all((uint64_t)next * 1000);
        us += next;
    }
    return argument;
}

static void *run_short(void *argument)
{
    part_1((uint64_t)(uintptr_t)argument * 1000);
    return NULL;
}

__attribute__((noinline)) void in_calls(uint64_t ns)
{
    char buffer[65536];
    uint64_t from = cpu_ns(), now = from;
    int zero = open("/dev/zero", O_RDONLY);
    for (; now - from < ns; now = cpu_ns())
        if (read(zero, buffer, sizeof buffer) < 0)
            abort();
    close(zero);
    __atomic_fetch_add(&spent[PARTS], now - from, __ATOMIC_RELAXED);
}

static void tell(void)
{
    struct rusage usage;
    for (int i = 0; i < PARTS; i++)
        if (spent[i] != 0)
            printf("part_%d %llu\n", i + 1, (unsigned long long)spent[i]);
    if (spent[PARTS] != 0)
        printf("in_calls %llu\n", (unsigned long long)spent[PARTS]);
    getrusage(RUSAGE_SELF, &usage);
    printf("user %llu\n", usage.ru_utime.tv_sec * 1000000000ull + usage.ru_utime.tv_usec * 1000ull);
    printf("system %llu\n",
           usage.ru_stime.tv_sec * 1000000000ull + usage.ru_stime.tv_usec * 1000ull);
}

static int number(char **arguments, int at)
{
    return arguments[at] == NULL ? 0 : atoi(arguments[at]);
}

int main(int count, char **arguments)
{
    enum { THREADS_MAX = 64 };
    pthread_t threads[THREADS_MAX];
    const char *mode = count > 2 ? arguments[1] : "";
    if (strcmp(mode, "shares") == 0) {
        int wanted = number(arguments, 2);
        milliseconds = number(arguments, 3);
        for (int i = 0; i < wanted && i < THREADS_MAX; i++)
            pthread_create(&threads[i], NULL, run, NULL);
        for (int i = 0; i < wanted && i < THREADS_MAX; i++)
            pthread_join(threads[i], NULL);
    } else if (strcmp(mode, "short") == 0) {
        for (int i = 0; i < number(arguments, 2); i++) {
            pthread_create(&threads[0], NULL, run_short, (void *)(uintptr_t)number(arguments, 3));
            pthread_join(threads[0], NULL);
        }
    } else if (strcmp(mode, "system") == 0) {
        for (int ms = 0; ms < number(arguments, 2); ms += 10) {
            part_1(5000000);
            in_calls(5000000);
        }
    } else if (strcmp(mode, "calls") == 0) {
        milliseconds = number(arguments, 3);
        part_10(100000000);
        spent[PARTS - 1] = 0;
        printf("started %d\n", ProfilerStart(arguments[2]));
        printf("again %d\n", ProfilerStart("other"));
        run(NULL);
        ProfilerStop();
        tell();
        part_10(100000000);
        return 0;
    } else if (strcmp(mode, "fork") == 0) {
        milliseconds = number(arguments, 2);
        int child = fork();
        if (child == 0) {
            if (count > 3)
                execl("/proc/self/exe", "work", "shares", "1", arguments[2], NULL);
            run(NULL);
            return 0;
        }
        part_10(1000000ull * milliseconds);
        waitpid(child, NULL, 0);
        printf("child %d\n", child);
    } else {
        return 2;
    }
    tell();
    return 0;
}
