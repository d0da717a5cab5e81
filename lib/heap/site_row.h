/* SPDX-License-Identifier: MIT */
/* What a site reports: the blocks that were seen there, and how many blocks each stands for. */
#ifndef HEAP_SITE_ROW_H
#define HEAP_SITE_ROW_H

#include <stdint.h>

/* Lifetimes: bucket i holds those below 4^i microseconds, the last one all longer ones (above 268
 * s). */
enum { LIFE_BUCKETS = 16 };

/* Number of blocks, their bytes as requested, and as malloc_usable_size says. */
struct track_sum {
    uint64_t objects, requested, usable;
};

struct track_row {
    uint32_t stack;  /* stacks.h */
    uint32_t thread; /* threads.h: number of its row, or THREAD_OTHER for all threads that have
                        ended */
    unsigned class;  /* of the allocator, or ACCOUNT_LARGE */
    uint32_t size;   /* usable size of a block; 0 for large blocks, whose sizes differ */
    int64_t rate;    /* mean bytes between samples; 0: every block was recorded */
    double weight;   /* 1 / p: the factor from what was seen to the estimate */
    /* Seen: */
    struct track_sum live, allocated, peak;
    uint64_t moved_out; /* objects that realloc moved to another block */
    /* Of the allocated objects, those that realloc resized in place and that already belonged to
     * this stack: they are not new samples. */
    uint64_t again;
    uint64_t lives[LIFE_BUCKETS]; /* objects that ended here, by age */
};

#endif
