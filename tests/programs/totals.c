/* SPDX-License-Identifier: MIT */
/*
 * helper: allocates in a known way, counts for itself, and says at its end what it knows:
 *   totals KIND STEPS -> calls, bytes allocated, live blocks, live bytes, peak bytes
 * Bytes are usable sizes. Kinds: small, mixed, large, grow (one block that realloc moves), rise
 * (nothing is freed), saw (up and down), threads (four of them, joined; the peak is not known: 0),
 * shrink (large blocks that realloc makes smaller), turns (the rate is changed again and again),
 * forget (after the peak, mallctl forgets what was recorded), later (every block is recorded, but
 * not from the start on), full (there is memory for blocks, but none for records).
 */
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { SLOTS = 3000, THREADS = 4 };

struct tally {
    uint64_t calls, bytes, blocks, live, peak;
};

static uint64_t next(uint64_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return *random;
}

static void *got(struct tally *tally, void *block)
{
    size_t size = malloc_usable_size(block);
    tally->calls++;
    tally->bytes += size;
    tally->blocks++;
    tally->live += size;
    if (tally->live > tally->peak)
        tally->peak = tally->live;
    return block;
}

static void gone(struct tally *tally, void *block)
{
    if (block == NULL)
        return;
    tally->blocks--;
    tally->live -= malloc_usable_size(block);
}

static void let_go(struct tally *tally, void **slot)
{
    gone(tally, *slot);
    free(*slot);
    *slot = NULL;
}

static void mix(struct tally *tally, uint64_t seed, unsigned steps, size_t max)
{
    void **slots = got(tally, calloc(SLOTS, sizeof *slots));
    uint64_t random = seed;
    for (unsigned i = 0; i < steps; i++) {
        void **slot = &slots[next(&random) % SLOTS];
        size_t size = 1 + next(&random) % max;
        if (*slot != NULL && next(&random) % 4 == 0) {
            gone(tally, *slot);
            *slot = got(tally, realloc(*slot, size));
        } else {
            let_go(tally, slot);
            *slot = got(tally, malloc(size));
        }
    }
    for (unsigned i = 0; i < SLOTS / 2; i++)
        let_go(tally, &slots[i]);
}

static void grow(struct tally *tally)
{
    size_t size = 1 << 20;
    char *block = got(tally, malloc(size));
    memset(block, 1, size);
    while (size < 64u << 20) {
        size *= 2;
        gone(tally, block);
        block = got(tally, realloc(block, size));
        block[size - 1] = 1;
    }
}

static void saw(struct tally *tally, unsigned steps, bool down)
{
    void **slots = got(tally, calloc(SLOTS, sizeof *slots));
    for (unsigned turn = 0; turn < (down ? steps / SLOTS : 1); turn++) {
        for (unsigned i = 0; i < SLOTS; i++)
            slots[i] = got(tally, malloc(100 + i));
        for (unsigned i = 0; down && i < SLOTS; i++)
            let_go(tally, &slots[i]);
    }
}

static void shrink(struct tally *tally, unsigned steps)
{
    void **slots = got(tally, calloc(SLOTS, sizeof *slots));
    for (unsigned i = 0; i < steps; i++) {
        char *block = got(tally, malloc(1000000));
        for (size_t size = 700000; size > 10; size = size * 2 / 3) {
            gone(tally, block);
            block = got(tally, realloc(block, size));
        }
        let_go(tally, &slots[i % SLOTS]);
        slots[i % SLOTS] = block;
    }
}

__attribute__((weak)) void memoir_set_rate(int64_t bytes);

/* The heap is largest at the end of the third turn, where every block is recorded, but not all are
 * that were allocated before. */
static void turns(struct tally *tally, unsigned steps)
{
    static const int64_t rates[] = {0, 64 << 10, 0, 512 << 10, 0};
    void **slots = got(tally, calloc(steps, sizeof *slots));
    for (unsigned turn = 0; turn < sizeof rates / sizeof *rates; turn++) {
        memoir_set_rate(rates[turn]);
        size_t size = turn == 2 ? 5000 : 1000;
        for (unsigned i = 0; i < steps; i += turn == 2 ? 2 : 1) { /* half of the blocks stay */
            let_go(tally, &slots[i]);
            slots[i] = got(tally, malloc(size));
        }
    }
}

static void later(struct tally *tally, unsigned steps)
{
    got(tally, malloc(100000));
    memoir_set_rate(64 << 10);
    got(tally, malloc(100));
    memoir_set_rate(0);
    mix(tally, 42, steps, 6000);
}

__attribute__((weak)) int mallctl(const char *name, void *old, size_t *length, void *new,
                                  size_t new_length);

static void forget(struct tally *tally, unsigned steps)
{
    saw(tally, steps, true);
    if (mallctl("prof.reset", NULL, NULL, NULL, 0) != 0)
        abort();
    for (unsigned i = 0; i < 100; i++)
        got(tally, malloc(1000));
}

static void full(struct tally *tally, unsigned steps)
{
    void **slots = got(tally, calloc(steps, sizeof *slots));
    uint64_t random = 42;
    void *room = got(tally, malloc(40 << 20));
    let_go(tally, &room);
    setrlimit(RLIMIT_AS, &(struct rlimit){0, RLIM_INFINITY});
    for (unsigned i = 0; i < steps; i++)
        if ((slots[i] = malloc(next(&random) % 3000)) != NULL)
            got(tally, slots[i]);
    setrlimit(RLIMIT_AS, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY});
    for (unsigned i = 0; i < steps; i++)
        let_go(tally, &slots[i]);
}

static struct tally tallies[THREADS];
static unsigned thread_steps;

static void *work(void *tally)
{
    mix(tally, 1000 + (uint64_t)(uintptr_t)tally, thread_steps, 4000);
    return NULL;
}

static void threads(struct tally *tally, unsigned steps)
{
    static pthread_t ids[THREADS];
    thread_steps = steps;
    for (unsigned i = 0; i < THREADS; i++)
        pthread_create(&ids[i], NULL, work, &tallies[i]);
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(ids[i], NULL);
        tally->calls += tallies[i].calls;
        tally->bytes += tallies[i].bytes;
        tally->blocks += tallies[i].blocks;
        tally->live += tallies[i].live;
    }
}

int main(int argc, char **argv)
{
    struct tally tally = {0};
    const char *kind = argc > 2 ? argv[1] : "";
    unsigned steps = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
    if (strcmp(kind, "small") == 0)
        mix(&tally, 42, steps, 200);
    else if (strcmp(kind, "mixed") == 0)
        mix(&tally, 42, steps, 6000);
    else if (strcmp(kind, "large") == 0)
        mix(&tally, 42, steps, 200000);
    else if (strcmp(kind, "grow") == 0)
        grow(&tally);
    else if (strcmp(kind, "rise") == 0 || strcmp(kind, "saw") == 0)
        saw(&tally, steps, kind[0] == 's');
    else if (strcmp(kind, "threads") == 0)
        threads(&tally, steps);
    else if (strcmp(kind, "shrink") == 0)
        shrink(&tally, steps);
    else if (strcmp(kind, "forget") == 0)
        forget(&tally, steps);
    else if (strcmp(kind, "turns") == 0)
        turns(&tally, steps);
    else if (strcmp(kind, "later") == 0)
        later(&tally, steps);
    else if (strcmp(kind, "full") == 0)
        full(&tally, steps);
    else
        return 2;
    char text[200];
    int length = snprintf(text, sizeof text, "%lu %lu %lu %lu %lu\n", tally.calls, tally.bytes,
                          tally.blocks, tally.live, tally.peak);
    return write(1, text, (size_t)length) == length ? 0 : 1;
}
