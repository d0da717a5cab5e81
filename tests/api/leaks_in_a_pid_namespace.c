/* SPDX-License-Identifier: MIT */
/* linked-only not-emulated */
/*
 * In a namespace of process ids that /proc does not show: threads have other numbers there than the
 * process knows. They stand still all the same, and tell their registers.
 */
#include "include/memoir/memoir.h"

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/api/check.h"

enum { THREADS = 4 };

static volatile int ready;

static __attribute__((noinline)) void wipe(void)
{
    volatile char dead[32 << 10];
    memset((void *)dead, 0, sizeof dead);
    __asm__ volatile("" ::"r"(dead) : "memory");
}

/* A block that only a register points to. */
static void *hold(void *argument)
{
#if defined(__x86_64__)
    uintptr_t hidden = ~(uintptr_t)calloc(1, 100);
    wipe();
    __atomic_fetch_add(&ready, 1, __ATOMIC_RELAXED);
    __asm__ volatile("not %0\n\tmov %0, %%r12\n\txor %0, %0\n\t1: mov $34, %%eax\n\t" /* pause */
                     "syscall\n\tjmp 1b"
                     : "+r"(hidden)::"r12", "rax", "rcx", "r11", "memory");
#endif
    __atomic_fetch_add(&ready, 1, __ATOMIC_RELAXED);
    for (;;)
        pause();
    return argument;
}

static int inside(void)
{
    struct memoir_leaks leaks;
    pthread_t thread;
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&thread, NULL, hold, NULL) == 0);
    while (ready < THREADS)
        usleep(1000);
    usleep(10000);
    wipe();
    CHECK(memoir_leaks(&leaks, sizeof leaks, NULL, NULL));
    CHECK(leaks.threads == THREADS + 1 && leaks.silent_threads == 0);
    CHECK(leaks.definite.blocks == 0);
    return check_result();
}

int main(void)
{
    if (unshare(CLONE_NEWPID) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) {
        puts("no namespace can be made: skipped");
        return 77;
    }
    pid_t child = fork();
    if (child == 0)
        _exit(inside());
    int status = 0;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return check_result();
}
