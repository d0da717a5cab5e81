/* SPDX-License-Identifier: MIT */
/*
 * Thousands of threads on a few processors begin to allocate at the same moment. Whichever thread
 * has a lock is often not running, and the others must not queue up for it at each of their calls:
 * a thread changes for another by itself a few times in its life, and their heaps stay few.
 */
#include <sys/resource.h>

#include "tests/programs/work.h"

enum {
    THREADS = 3000,
    ROUNDS = 3, /* a queue forms by chance */
    PAIRS = 400,
    SLOTS = 32,
    BLOCK_MAX = 1024,
    STACK = 64 << 10,
    CHANGES_MAX = 12, /* for a thread, in the mean; with a queue at each call it is 30 to 90 */
};

static pthread_barrier_t barrier;

static void *churn(void *seed)
{
    void *slots[SLOTS] = {NULL};
    uint64_t random = (uintptr_t)seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < PAIRS; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        unsigned slot = (random >> 40) % SLOTS;
        free(slots[slot]);
        slots[slot] = malloc(1 + (random & 0xffff) % BLOCK_MAX);
        CHECK(slots[slot] != NULL);
    }
    for (int i = 0; i < SLOTS; i++)
        free(slots[i]);
    return NULL;
}

static long changes_now(void)
{
    struct rusage usage;
    CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
    return usage.ru_nvcsw;
}

int main(void)
{
    static pthread_t threads[THREADS];
    pthread_attr_t small;
    pthread_attr_init(&small);
    CHECK(pthread_attr_setstacksize(&small, STACK) == 0);
    for (int round = 0; round < ROUNDS; round++) {
        unsigned count = 0;
        CHECK(pthread_barrier_init(&barrier, NULL, THREADS + 1) == 0);
        while (count < THREADS &&
               pthread_create(&threads[count], &small, churn, (void *)(uintptr_t)(count + 1)) == 0)
            count++;
        if (count < THREADS) {
            puts("the system gives too few threads");
            _exit(77);
        }
        long before = changes_now();
        pthread_barrier_wait(&barrier);
        for (unsigned i = 0; i < THREADS; i++)
            CHECK(pthread_join(threads[i], NULL) == 0);
        long changes = changes_now() - before;
        if (changes > (long)CHANGES_MAX * THREADS) {
            printf("round %d: %ld changes of %d threads\n", round, changes, THREADS);
            return 1;
        }
    }
    return 0;
}
