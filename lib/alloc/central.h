/* SPDX-License-Identifier: MIT */
/*
 * Spans of blocks, and the blocks in them that no heap holds. Heaps come here for a batch when a
 * bin is empty and bring one back when it is full; so a block may be freed by any thread, and what
 * one thread frees, any other may use next. One lock a mark and pool, held for a batch; which
 * blocks are here is a bit each in the span, so neither way touches the blocks themselves.
 *
 * A span that is all free goes back to the pages at once, but for the last short one of a list.
 */
#ifndef ALLOC_CENTRAL_H
#define ALLOC_CENTRAL_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/window/window.h"

/* A watched class has a list of its own behind those of the marks. */
enum { CENTRAL_WATCHED = MARK_COUNT, CENTRAL_COUNT = MARK_COUNT + CLASS_COUNT };

/* Spans with free blocks are in one of several lists, by their `taker`. */
enum { CENTRAL_HEADS = 4 };

struct central {
    struct lock lock;
    uint32_t parcels;              /* blocks that come home as soon as a thread has the lock */
    uint32_t heads[CENTRAL_HEADS]; /* ids */
    uint32_t spans;                /* of this mark in all, */
    uint32_t made;                 /* and those that were ever made */
    size_t out;                    /* blocks that are not here: in bins or with the program */
    size_t here;                   /* free blocks in the spans, */
    size_t fresh;            /* and those of them that lie beyond what was ever taken, nearly all */
    uint64_t direct;         /* blocks that went to the program without a bin, ever */
    uint32_t fills, flushes; /* calls of `central_take` and `central_give` */
};

/* Whether a thread holds the lock of this list at the moment. */
bool central_busy(unsigned pool, unsigned list);
/* The lists of a pool stand in a row. NULL where the pool was never used. */
const struct central *central_peek(unsigned pool, unsigned list);
/* Up to `wanted` blocks into slots[wanted - 1] and downwards, lowest address first; returns how
 * many. 0 when memory is out. `list` is a mark, or CENTRAL_WATCHED + class for blocks whose span
 * has a table of records. */
unsigned central_take(unsigned pool, unsigned list, void **slots, unsigned wanted);
/* Blocks of any marks and pools come home. Aborts on one that is home already. */
void central_give(void *const *slots, unsigned count);
/* One block for the program, past all bins. NULL when memory is out. */
void *central_take_one(unsigned pool, unsigned list);
/* A free block of the class, whichever list has one; NULL: all are empty. For when memory is out:
 * the block may be of another colour, or of a span with records. */
void *central_take_left(unsigned class);
/* While a span of blocks is held, no thread ends it. False: it is not a span of this file, or
 * a thread changes its list at the moment. */
bool central_hold(const struct span *span);
void central_release(const struct span *span);
/* Where the record of a block is kept; NULL: it has none. */
struct record *central_record(struct span *span, const void *block);
/* In a forked child: opens locks of threads that stayed behind (true if there were any), and lists
 * from states. */
bool central_break(uint32_t parent_id);
void central_recover(void);
/* Rebuilds the lists whose locks the calling thread has, after the one that changed them was cut
 * off (recover.c); and gives the locks back. */
void central_repair(bool give);

/* Spans of blocks made since the start, those of owners left out. */
uint64_t central_spans_made(void);

#endif
