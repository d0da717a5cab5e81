/* SPDX-License-Identifier: MIT */
/*
 * Thousands of threads on a few processors begin to allocate at the same moment. Whichever thread
 * has a lock is often not running, and the others must not queue up for it at each of their calls:
 * a thread changes for another by itself a few times in its life, and their heaps stay few.
 *
 *     threads_released_at_once [THREADS PAIRS SLOTS BYTES]      with numbers: once, not judged
 */
#include <sys/resource.h>

#include "tests/programs/work.h"

enum {
    THREADS_MAX = 10000,
    SLOTS_MAX = 100,
    ROUNDS = 3, /* a queue forms by chance */
    STACK = 64 << 10,
    CHANGES_MAX = 12, /* for a thread, in the mean; with a queue at each call it is 30 to 90 */
};

static unsigned threads = 3000, pairs = 400, slots = 32, bytes_max = 1024;
static pthread_barrier_t barrier;

static void *churn(void *seed)
{
    void *blocks[SLOTS_MAX] = {NULL};
    uint64_t random = (uintptr_t)seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
    pthread_barrier_wait(&barrier);
    for (unsigned i = 0; i < pairs; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        void **block = &blocks[(random >> 40) % slots];
        free(*block);
        *block = malloc(1 + (random & 0xffff) % bytes_max);
        CHECK(*block != NULL);
    }
    for (unsigned i = 0; i < slots; i++)
        free(blocks[i]);
    return NULL;
}

static long changes_now(void)
{
    struct rusage usage;
    CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
    return usage.ru_nvcsw;
}

int main(int count, char **arguments)
{
    static pthread_t ids[THREADS_MAX];
    unsigned *numbers[] = {&threads, &pairs, &slots, &bytes_max};
    for (int i = 1; i < count && i <= 4; i++)
        *numbers[i - 1] = (unsigned)atoi(arguments[i]);
    CHECK(threads <= THREADS_MAX && slots <= SLOTS_MAX);
    pthread_attr_t small;
    pthread_attr_init(&small);
    CHECK(pthread_attr_setstacksize(&small, STACK) == 0);
    for (int round = 0; round < (count > 1 ? 1 : ROUNDS); round++) {
        unsigned begun = 0;
        CHECK(pthread_barrier_init(&barrier, NULL, threads + 1) == 0);
        while (begun < threads &&
               pthread_create(&ids[begun], &small, churn, (void *)(uintptr_t)(begun + 1)) == 0)
            begun++;
        if (begun < threads) {
            puts("the system gives too few threads");
            _exit(77);
        }
        long before = changes_now();
        pthread_barrier_wait(&barrier);
        for (unsigned i = 0; i < threads; i++)
            CHECK(pthread_join(ids[i], NULL) == 0);
        long changes = changes_now() - before;
        if (count == 1 && changes > (long)CHANGES_MAX * threads) {
            printf("round %d: %ld changes of %u threads\n", round, changes, threads);
            return 1;
        }
    }
    return 0;
}
