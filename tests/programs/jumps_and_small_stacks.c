/* SPDX-License-Identifier: MIT */
/* longjmp over frames that hold blocks, coroutines that change stacks between malloc and free,
 * threads with the smallest stack there is, and malloc on a coroutine's stack of 16 KiB. */
#include <limits.h>
#include <setjmp.h>
#include <ucontext.h>

#include "tests/programs/work.h"

enum { TURNS = 3000, COROUTINES = 20, COROUTINE_STACK = 16 * 1024 };

static jmp_buf back;
static void *last;

static void descend(unsigned depth, unsigned turn)
{
    void *block = malloc(work_size((depth + turn) % 100));
    free(last);
    last = block;
    if (block == NULL) {
        return;
    }
    if (depth == 0) {
        longjmp(back, 1 + (int)(turn % 5));
    }
    descend(depth - 1, turn);
    __asm__ volatile("" : : "r"(&block) : "memory");
}

static void jumps(void)
{
    for (volatile unsigned turn = 0; turn < TURNS; turn++) {
        if (setjmp(back) == 0) {
            descend(turn % 30, turn);
        }
    }
    free(last);
}

static ucontext_t scheduler, coroutines[COROUTINES];
static char *stacks[COROUTINES];
static unsigned finished, current;

static void coroutine(void)
{
    for (unsigned turn = 0; turn < 50; turn++) {
        unsigned self = current;
        unsigned char *block = malloc(work_size(turn));
        block[0] = (unsigned char)self;
        swapcontext(&coroutines[self], &scheduler);
        CHECK_EQ(block[0], (unsigned char)self);
        free(block);
    }
    finished++;
    swapcontext(&coroutines[current], &scheduler);
}

static void switching_stacks(void)
{
    for (unsigned i = 0; i < COROUTINES; i++) {
        stacks[i] = malloc(COROUTINE_STACK);
        getcontext(&coroutines[i]);
        coroutines[i].uc_stack.ss_sp = stacks[i];
        coroutines[i].uc_stack.ss_size = COROUTINE_STACK;
        coroutines[i].uc_link = &scheduler;
        makecontext(&coroutines[i], coroutine, 0);
    }
    while (finished < COROUTINES) {
        for (current = 0; current < COROUTINES; current++) {
            if (finished < COROUTINES) {
                swapcontext(&scheduler, &coroutines[current]);
            }
        }
    }
    for (unsigned i = 0; i < COROUTINES; i++) {
        free(stacks[i]);
    }
}

static void *on_small_stack(void *good)
{
    void *block = malloc(30000);
    block = realloc(block, 3000000);
    free(block);
    block = calloc(100, 100);
    free(block);
    *(bool *)good = true;
    return NULL;
}

static void smallest_stacks(void)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    CHECK_EQ(pthread_attr_setstacksize(&attributes, (size_t)sysconf(_SC_THREAD_STACK_MIN)), 0);
    for (int i = 0; i < 200; i++) {
        pthread_t thread;
        bool good = false;
        CHECK_EQ(pthread_create(&thread, &attributes, on_small_stack, &good), 0);
        CHECK_EQ(pthread_join(thread, NULL), 0);
        CHECK(good);
    }
}

int main(void)
{
    alarm(60);
    jumps();
    switching_stacks();
    smallest_stacks();
    CHECK(heap_works(1));
    return check_result();
}
