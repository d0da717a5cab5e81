/* SPDX-License-Identifier: MIT */
/* helper of system_calls_fail.sh: uses every part of the allocator that talks to the kernel,
 * expects NULL and ENOMEM at any moment, and checks at the end and in between that the heap is
 * consistent. Ends with 0 also where there was no memory; with 3 if the heap broke. */
#include "memoir/memoir.h"
#include "tests/programs/work.h"

#pragma weak memoir_stats

enum { BLOCKS = 2500, ROUNDS = 3 };

static unsigned char *blocks[BLOCKS];
static size_t sizes[BLOCKS];
static unsigned refused;

static size_t size_of(unsigned i)
{
    return i % 250 == 249 ? (size_t)3 << 20
           : i % 50 == 49 ? 150000 + i
           : i % 7 == 0   ? 9000 + i
                          : 20 + i % 900;
}

static void broken(const char *what)
{
    check_say("the heap broke: %s\n", what);
    _exit(3);
}

static void expect_no_memory(const void *block)
{
    if (block == NULL) {
        refused++;
        if (errno != ENOMEM) {
            broken("NULL without ENOMEM");
        }
    }
}

static void allocate(unsigned i)
{
    sizes[i] = size_of(i);
    blocks[i] = i % 5 == 0   ? calloc(1, sizes[i])
                : i % 5 == 1 ? memalign(64 << i % 8, sizes[i])
                             : malloc(sizes[i]);
    expect_no_memory(blocks[i]);
    if (blocks[i] == NULL) {
        return;
    }
    if (i % 5 == 0 && first_other_byte(blocks[i], sizes[i], 0) != sizes[i]) {
        broken("calloc is not zero");
    }
    pattern_fill(blocks[i], sizes[i] < 200 ? sizes[i] : 200, i);
    blocks[i][sizes[i] - 1] = (unsigned char)i;
}

static void verify(unsigned i)
{
    size_t kept = sizes[i] - 1 < 200 ? sizes[i] - 1 : 200;
    if (blocks[i] != NULL && (pattern_differs_at(blocks[i], kept, i) != kept ||
                              blocks[i][sizes[i] - 1] != (unsigned char)i)) {
        broken("contents changed");
    }
}

static void resize(unsigned i)
{
    size_t size = i % 2 ? sizes[i] * 2 + 10 : sizes[i] / 2 + 1;
    unsigned char *larger = blocks[i] == NULL ? NULL : realloc(blocks[i], size);
    if (larger == NULL) {
        return; /* the old block is as it was, which `verify` will see */
    }
    size_t before = sizes[i] - 1 < 200 ? sizes[i] - 1 : 200;
    size_t both = before < size ? before : size;
    if (pattern_differs_at(larger, both, i) != both) {
        broken("realloc lost the contents");
    }
    blocks[i] = larger;
    sizes[i] = size;
    size_t kept = size - 1 < 200 ? size - 1 : 200;
    pattern_fill(larger, kept, i);
    larger[size - 1] = (unsigned char)i;
}

static void *work(void *unused)
{
    for (int round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < BLOCKS; i++) {
            allocate(i);
        }
        for (unsigned i = 0; i < BLOCKS; i += 3) {
            verify(i);
            resize(i);
        }
        for (unsigned i = 0; i < BLOCKS; i++) {
            verify(i);
            free(blocks[i]);
        }
        malloc_trim(0);
    }
    return unused;
}

int main(void)
{
    pthread_t thread;
    alarm(60);
    puts("started");
    fflush(stdout);
    work(NULL);
    if (pthread_create(&thread, NULL, work, NULL) == 0) {
        pthread_join(thread, NULL);
    }
    struct memoir_stats stats;
    if (memoir_stats != NULL && memoir_stats(&stats, sizeof stats) && stats.live_blocks > 1000) {
        broken("blocks that nobody holds");
    }
    /* Whatever failed has passed: the heap must be good for a small thing. */
    if (heap_verdict(1) == BROKEN) {
        broken("at the end");
    }
    return 0;
}
