/* SPDX-License-Identifier: MIT */
/* helper: peaks that are made of blocks from threads' bins, and that nothing but those blocks tells
 * of. Prints the most bytes that were live, in usable bytes.
 *
 *     peak KIND SIZE THREADS MIB
 *
 * MIB mebibytes live in small blocks. Each of THREADS threads has filled bins of SIZE (late), or of
 * many sizes up to it (many), by allocating and freeing about 900 KB in turn. Then the heap grows,
 * nothing is freed meanwhile, and each thread takes from its bins, all at the same time, and gives
 * back what it took.
 */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BYTES = 900000,
    SMALL = 200,
    GROWTH = 2 << 20,
    ROUNDS = 60,
    THREADS_MAX = 8,
    SIZES_MAX = 64
};

static size_t sizes[SIZES_MAX];
static unsigned size_count;
static unsigned thread_count;
static pthread_barrier_t turn;
static uint64_t live, peak;

static void *take(size_t size)
{
    void *block = malloc(size);
    uint64_t now = __atomic_add_fetch(&live, malloc_usable_size(block), __ATOMIC_RELAXED);
    uint64_t before = __atomic_load_n(&peak, __ATOMIC_RELAXED);
    while (now > before &&
           !__atomic_compare_exchange_n(&peak, &before, now, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
    return block;
}

static void drop(void *block)
{
    __atomic_fetch_sub(&live, malloc_usable_size(block), __ATOMIC_RELAXED);
    free(block);
}

static void hold(size_t bytes, void **blocks)
{
    for (size_t i = 0; i < bytes / SMALL; i++)
        blocks[i] = take(SMALL);
}

/* Each size in turn, so that no more than one share lives at a time. */
static void fill_bins(void **blocks)
{
    for (unsigned i = 0; i < size_count; i++)
        for (unsigned round = 0; round < ROUNDS; round++) {
            size_t count = BYTES / size_count / sizes[i];
            for (size_t k = 0; k < count; k++)
                blocks[k] = take(sizes[i]);
            for (size_t k = 0; k < count; k++)
                drop(blocks[k]);
        }
}

static void spike(void **blocks)
{
    size_t taken = 0;
    for (unsigned i = 0; i < size_count; i++)
        for (size_t k = 0; k < BYTES / size_count / sizes[i]; k++)
            blocks[taken++] = take(sizes[i]);
    pthread_barrier_wait(&turn);
    while (taken > 0)
        drop(blocks[--taken]);
}

static void *run(void *argument)
{
    uintptr_t self = (uintptr_t)argument;
    void **blocks = take(BYTES / 16 * sizeof(void *)), **growth = NULL;
    for (unsigned i = 0; i < thread_count; i++) {
        if (i == self)
            fill_bins(blocks);
        pthread_barrier_wait(&turn);
    }
    if (self == 0) {
        growth = take(GROWTH / SMALL * sizeof(void *));
        hold(GROWTH, growth);
    }
    pthread_barrier_wait(&turn);
    spike(blocks);
    pthread_barrier_wait(&turn);
    for (size_t i = 0; growth != NULL && i < GROWTH / SMALL; i++)
        drop(growth[i]);
    if (growth != NULL)
        drop(growth);
    pthread_barrier_wait(&turn); /* what libc frees for a thread that ended comes later */
    drop(blocks);
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return 2;
    size_t max = strtoul(argv[2], NULL, 10), bytes = strtoul(argv[4], NULL, 10) << 20;
    thread_count = (unsigned)strtoul(argv[3], NULL, 10);
    for (size_t size = strcmp(argv[1], "many") == 0 ? 16 : max; size <= max; size += size / 4 + 16)
        sizes[size_count++] = size;
    void **base = take(bytes / SMALL * sizeof(void *));
    hold(bytes, base);
    pthread_barrier_init(&turn, NULL, thread_count);
    pthread_t threads[THREADS_MAX];
    for (uintptr_t i = 1; i < thread_count; i++)
        pthread_create(&threads[i], NULL, run, (void *)i);
    run(NULL);
    for (uintptr_t i = 1; i < thread_count; i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 0; i < bytes / SMALL; i++)
        drop(base[i]);
    printf("%llu\n", (unsigned long long)peak);
    return 0;
}
