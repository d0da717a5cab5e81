/* SPDX-License-Identifier: MIT */
/*
 * helper: a timer's handler jumps back to the main loop wherever the loop is, which is most of the
 * time in malloc, calloc, realloc or free, at several depths of the stack. Fails if a block is
 * refused, or given out twice, or if a lock of a call that was left is not open after the next one.
 * The argument: threads beside it, which share its heap and take no signal.
 */
#include <setjmp.h>
#include <signal.h>
#include <time.h>

#include "tests/programs/work.h"

enum { JUMPS = 1500, EVERY_NS = 100000, BLOCKS = 64, SMALL = 2000, LARGE = 40000, DEEP = 6 };
enum { LOOK_EVERY = 5, PATIENCE_MS = 20000, FAR = 200000 };

struct kept {
    unsigned char *volatile block; /* NULL while it is in the hands of a call */
    size_t volatile size;
    unsigned volatile seed;
};

static struct kept all[BLOCKS];
static sigjmp_buf back;
static volatile unsigned jumps, refused, broken, stuck;
static atomic_ulong turns; /* of the threads beside */
static atomic_bool over;

static void jump(int number)
{
    (void)number;
    jumps++;
    siglongjmp(back, 1);
}

static unsigned next(unsigned *random)
{
    *random = *random * 1664525 + 1013904223;
    return *random >> 8;
}

static size_t checked(size_t size)
{
    return size < SMALL ? size : SMALL;
}

/* The block comes home only when it is complete: one that a jump interrupts is lost. */
static void keep(struct kept *kept, unsigned char *block, size_t size, unsigned seed)
{
    if (block == NULL) {
        refused++;
        return;
    }
    pattern_fill(block, checked(size), seed);
    kept->size = size;
    kept->seed = seed;
    kept->block = block;
}

static void turn(struct kept *blocks, unsigned *random)
{
    struct kept *kept = &blocks[next(random) % BLOCKS];
    unsigned kind = next(random), seed = next(random);
    size_t size = kind % 64 == 0 ? LARGE + next(random) % LARGE : 1 + next(random) % SMALL;
    unsigned char *block = kept->block;
    kept->block = NULL;
    if (block != NULL &&
        pattern_differs_at(block, checked(kept->size), kept->seed) != checked(kept->size)) {
        broken++;
    }
    if (block != NULL && kind % 5 == 0) {
        keep(kept, realloc(block, size), size, seed);
        return;
    }
    free(block);
    keep(kept, kind % 3 == 0 ? calloc(1, size) : malloc(size), size, seed);
}

/* Below `depth` frames of its own. */
static void turn_deep(unsigned depth, unsigned *random)
{
    volatile char frame[200];
    frame[depth] = 1;
    if (depth == 0) {
        turn(all, random);
    } else {
        turn_deep(depth - 1, random);
    }
    frame[depth] = 0;
}

/* A call further down than the one that was left, whose frame stays as it was. */
static __attribute__((noinline)) void take_below(void)
{
    volatile char frame[DEEP * 300];
    frame[0] = 1;
    free(malloc(FAR)); /* not one of the shortest calls */
    frame[0] = 0;
}

/* A lock that the call held is open again: another thread goes on. */
static bool others_go_on(void)
{
    unsigned long before = turns;
    for (unsigned ms = 0; turns == before && ms < PATIENCE_MS; ms++) {
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
    return turns != before;
}

static void *beside(void *number)
{
    struct kept blocks[BLOCKS] = {{0}};
    unsigned random = 7 + (unsigned)(uintptr_t)number;
    while (!over) {
        turn(blocks, &random);
        turns++;
    }
    return NULL;
}

int main(int count, char **arguments)
{
    unsigned threads = count > 1 ? (unsigned)atoi(arguments[1]) : 0;
    static unsigned random = 1;
    pthread_t others[NOISE_MAX];
    timer_t timer;
    struct sigaction jumping = {.sa_handler = jump};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct itimerspec often = {{0, EVERY_NS}, {0, EVERY_NS}}, never = {{0, 0}, {0, 0}};
    sigset_t ours;
    alarm(100);
    sigemptyset(&ours);
    sigaddset(&ours, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &ours, NULL);
    for (unsigned i = 0; i < threads; i++) {
        CHECK_EQ(pthread_create(&others[i], NULL, beside, (void *)(uintptr_t)i), 0);
    }
    CHECK_EQ(sigaction(SIGUSR1, &jumping, NULL), 0);
    CHECK_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
    CHECK_EQ(timer_settime(timer, 0, &often, NULL), 0);
    if (sigsetjmp(back, 1) != 0 && threads != 0 && jumps % LOOK_EVERY == 0) {
        take_below();
        stuck += !others_go_on();
    }
    pthread_sigmask(SIG_UNBLOCK, &ours, NULL);
    while (jumps < JUMPS && broken == 0 && stuck == 0) {
        turn_deep(next(&random) % DEEP, &random);
    }
    pthread_sigmask(SIG_BLOCK, &ours, NULL);
    CHECK_EQ(timer_settime(timer, 0, &never, NULL), 0);
    while (sigtimedwait(&ours, NULL, &(struct timespec){0, 0}) > 0) {
        continue;
    }
    pthread_sigmask(SIG_UNBLOCK, &ours, NULL);
    over = true;
    /* The last jump may have left a lock taken. Only this thread can open it, in a call of malloc
     * that is not one of the shortest: before it waits for the others. */
    CHECK(heap_works(1));
    for (unsigned i = 0; i < threads; i++) {
        CHECK_EQ(pthread_join(others[i], NULL), 0);
    }
    CHECK_EQ(refused, 0);
    CHECK_EQ(broken, 0);
    CHECK_EQ(stuck, 0);
    return check_result();
}
