/* SPDX-License-Identifier: MIT */
/* linked-only not-emulated */
/*
 * Threads that block all signals, asleep or running, are not waited for: the others would stand
 * still for a second. A block that such a thread hands to the kernel is not lost.
 */
#include "include/memoir/memoir.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/api/check.h"

enum { ASLEEP = 100, SCANS = 5, WAIT_US = 1000000 };

static volatile int running, asleep, reader, ends[2];
static void *volatile sink;

static void block_signals(void)
{
    unsigned long all = ~0ul;
    syscall(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, &all, NULL, sizeof all);
}

static void *sleep_on(void *argument)
{
    block_signals();
    __atomic_fetch_add(&asleep, 1, __ATOMIC_RELAXED);
    for (;;)
        pause();
    return argument;
}

static void *run_on(void *argument)
{
    block_signals();
    running = 1;
    while (running)
        ;
    return argument;
}

static __attribute__((noinline)) void wipe(void)
{
    volatile char dead[32 << 10];
    memset((void *)dead, 0, sizeof dead);
    __asm__ volatile("" ::"r"(dead) : "memory");
}

/* Its buffer is known to the kernel alone, as an argument of the call. */
static void *read_on(void *argument)
{
#if defined(__x86_64__)
    block_signals();
    uintptr_t hidden = ~(uintptr_t)calloc(1, 100);
    wipe();
    reader = (int)syscall(SYS_gettid);
    __asm__ volatile("not %0\n\tmov %0, %%rsi\n\txor %0, %0\n\txor %%eax, %%eax\n\tsyscall"
                     : "+r"(hidden)
                     : "D"((long)ends[0]), "d"(1L)
                     : "rax", "rsi", "rcx", "r11", "memory");
#endif
    return argument;
}

#if defined(__x86_64__)
static bool is_reading(void)
{
    char path[64], text[8] = {0};
    snprintf(path, sizeof path, "/proc/self/task/%d/syscall", reader);
    FILE *file = fopen(path, "r");
    bool reads = file != NULL && fread(text, 1, 4, file) == 4 && memcmp(text, "0 0x", 4) == 0;
    if (file != NULL)
        fclose(file);
    return reads;
}
#endif

static struct memoir_leaks look(void)
{
    struct memoir_leaks leaks;
    wipe();
    CHECK(memoir_leaks(&leaks, sizeof leaks, NULL, NULL));
    return leaks;
}

static void start(void *(*run)(void *))
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, run, NULL) == 0);
}

static uint64_t shortest_stand(unsigned silent)
{
    uint64_t min = UINT64_MAX;
    for (int i = 0; i < SCANS; i++) {
        struct memoir_leaks leaks = look();
        CHECK(leaks.silent_threads == silent);
        CHECK(leaks.definite.blocks == 0);
        min = leaks.stood_us < min ? leaks.stood_us : min;
    }
    return min;
}

int main(void)
{
    CHECK(pipe((int *)ends) == 0);
    unsigned silent = ASLEEP;
#if defined(__x86_64__)
    start(read_on);
    while (!is_reading())
        usleep(1000);
    silent++;
#endif
    for (int i = 0; i < ASLEEP; i++)
        start(sleep_on);
    while (asleep < ASLEEP)
        usleep(1000);
    CHECK(shortest_stand(silent) < WAIT_US);
    start(run_on);
    while (!running)
        usleep(1000);
    CHECK(shortest_stand(silent + 1) < WAIT_US);
    return check_result();
}
