/* SPDX-License-Identifier: MIT */
/*
 * What keeps memory in use: for each site the spans that its live blocks lie in. A span returns to
 * the kernel with its last block, so one block of 64 bytes may keep 16 KiB. Each live block of a
 * span has an equal share of the span's memory: shares of all sites add up to the memory of all
 * spans. *Alone* is the part in spans whose live blocks all belong to one stack: what would
 * return if that stack freed its blocks.
 *
 * With rate 0 every block and its neighbours are known, and the sums are counts. Sampled blocks
 * have a place (places.h) in a span of ordinary blocks; how many live there is counted, whose they
 * are is not known: `alone` then is what is likely to be so, and rather too little than too much.
 *
 * Other threads go on meanwhile. Cost: about 1 ns a span and 5 ns a recorded block.
 */
#ifndef HEAP_PINS_H
#define HEAP_PINS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/alloc/alloc.h"

/* How full spans are: up to 1/64, 1/32, ... 1/2, 1 of their blocks are live. */
enum { PINS_FILLS = 7 };

/* The spans of a class. */
struct pins_class {
    uint64_t spans, bytes; /* in memory, */
    uint64_t slots, out; /* blocks that they are cut into; those of them that are live or cached */
    uint64_t by_fill[PINS_FILLS]; /* bytes */
};

/* A site's blocks in spans of one fill. */
struct pins_row {
    uint32_t stack, thread;
    unsigned class; /* CLASS_COUNT: large blocks, */
    uint64_t size;  /* whose mean size this is; else that of the class */
    int64_t rate;
    unsigned fill;
    uint64_t seen;               /* recorded blocks, */
    double blocks, bytes, alone; /* and what they stand for: blocks, their share of the spans */
};

struct pins {
    uint64_t placed, unplaced; /* sampled blocks whose place is known, and not */
    struct pins_class classes[CLASS_COUNT];
    struct pins_sum *sums; /* by site */
    uint32_t sites;
};

/* False: memory is out. */
bool pins_take(struct pins *pins);
void pins_each(const struct pins *pins, void (*row)(void *context, const struct pins_row *row),
               void *context);
void pins_free(struct pins *pins);

#endif
