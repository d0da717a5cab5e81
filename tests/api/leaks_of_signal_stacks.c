/* SPDX-License-Identifier: MIT */
/* linked-only not-emulated */
/*
 * An alternate signal stack that is a block of the heap is in use as long as its thread has it:
 * only the kernel knows it. When the thread has ended, or has another one or none, nothing leads
 * to the block any more, and what this library keeps in mind of such stacks is no reason to call
 * it reachable.
 */
#include "include/memoir/memoir.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/api/check.h"

enum { STACK = 64 << 10 };

static struct memoir_leaks before;
static pthread_barrier_t both;

static __attribute__((noinline)) void wipe(void)
{
    volatile char dead[64 << 10];
    memset((void *)dead, 0, sizeof dead);
    __asm__ volatile("" ::"r"(dead) : "memory");
}

static __attribute__((noinline)) void stack_set(int flags)
{
    stack_t stack = {.ss_sp = calloc(1, STACK), .ss_size = STACK};
    CHECK(sigaltstack(&stack, NULL) == 0);
    stack.ss_flags = flags;
    if (flags != 0)
        CHECK(sigaltstack(&stack, NULL) == 0);
    stack.ss_sp = NULL;
    __asm__ volatile("" ::"r"(&stack) : "memory");
}

static uint64_t lost(void)
{
    struct memoir_leaks leaks = {0};
    wipe();
    CHECK(memoir_leaks(&leaks, sizeof leaks, NULL, NULL));
    return leaks.definite.blocks - before.definite.blocks;
}

static void *has_one(void *unused)
{
    stack_set(0);
    wipe();
    pthread_barrier_wait(&both);
    pthread_barrier_wait(&both);
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_barrier_init(&both, NULL, 2);
    CHECK(memoir_leaks(&before, sizeof before, NULL, NULL));
    pthread_create(&thread, NULL, has_one, NULL);
    pthread_barrier_wait(&both);
    CHECK_EQ(lost(), 0);
    pthread_barrier_wait(&both);
    pthread_join(thread, NULL);
#if defined(__x86_64__) /* elsewhere the stack of a thread that has ended counts */
    CHECK_EQ(lost(), 1);
    before.definite.blocks++;
#endif
    stack_set(0);
    CHECK_EQ(lost(), 0);
    stack_set(0); /* in its place */
    CHECK_EQ(lost(), 1);
    stack_set(SS_DISABLE);
    CHECK_EQ(lost(), 3);
    return check_result();
}
