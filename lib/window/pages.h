/* SPDX-License-Identifier: MIT */
/*
 * Free runs of units, and where they go. A pool is the memory of one NUMA node (one pool where
 * there is one node); each has its own runs under its own lock.
 *
 * A free run is dirty (its pages may be in memory) or clean (untouched or returned). Runs of one
 * kind join their neighbours, but for some short dirty ones, which stay as they are until nothing
 * else fits: the next block of their length then begins where memory is in use already. Dirty ones
 * are taken first, best fit, and of those first the
 * ones that the thread's own side gave: they may still be in the caches of its core. They are
 * returned to the kernel when they have been idle for the option's delay, or when there are too
 * many of them. There is no thread for that: a thread on the cold path that sees that the time
 * has passed does it.
 *
 * Where there are several threads, what is clean is cut into *grounds*, one after the other for
 * each side, which takes its short runs there. Processors fetch lines ahead of what a thread reads,
 * as far as the end of a page; if the tables of two threads' blocks lie in one page, each takes
 * lines away from the other that it never uses.
 */
#ifndef WINDOW_PAGES_H
#define WINDOW_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/window/span.h"

/* Eight pools: 10,000 threads took 2.7 to 5.8 s of CPU with them, and 6 to 9 with one.
 * Lengths: 64 of their own, then four a doubling up to 2^31 units. Eight sides: as many kinds of
 * threads get back what was theirs, and each side is a shelf of BUCKETS lists. */
enum { POOL_MAX = 8, BUCKETS = 164, SIDES = 8 };
/* Clean runs, the dirty ones of each side, and the grounds of each side. */
enum { SHELF_CLEAN, SHELF_DIRTY, SHELF_GROUND = SHELF_DIRTY + SIDES };
enum { SHELVES = SHELF_GROUND + SIDES };

/* What a process with one thread writes comes first: it is one page. */
struct pages {
    struct lock lock;
    uint64_t filled[SHELVES][(BUCKETS + 63) / 64]; /* which of the heads are not empty */
    uint32_t oldest, newest;                       /* of the dirty ones */
    uint64_t rest_until_ms;                        /* before, the kernel is not asked again */
    uint32_t spare;                                /* ids of ended spans, linked by `next` */
    uint32_t alone;                                /* dirty runs that were not joined */
    size_t used_units, dirty_units, clean_units;
    uint64_t returned_units;          /* in all, since the start, */
    uint64_t returns;                 /* and in how many calls */
    uint32_t heads[SHELVES][BUCKETS]; /* by length */
    bool has_grounds;
};

extern HIDDEN struct pages pages_of[POOL_MAX];
/* A power of two above every node that a thread was seen on. Pools with the same remainder are of
 * one node: their centres are apart, their pages are shared. */
extern HIDDEN unsigned pages_nodes;
INLINE unsigned pages_node(unsigned pool)
{
    return pool & (load_relaxed(&pages_nodes) - 1);
}
INLINE uint8_t pool_of(const struct pages *pages)
{
    return (uint8_t)(pages - pages_of);
}
extern HIDDEN __thread uint8_t pages_side; /* the calling thread's */
/* Its number, counted from 1 and around; 0: it has none yet (heap.c). Here it fills a gap in
 * thread-local memory. */
extern HIDDEN __thread uint8_t pages_number;
extern HIDDEN uint32_t pages_threads; /* that have a heap (heap.c) */
extern HIDDEN bool pages_several;     /* more than one thread has been here */
/* Whether threads have spans of their own, and grounds. Two threads that take from one span write
 * to the same lines for as long as they use these blocks: lines of the blocks, and of the bytes
 * that say which of them live. A great many threads share, as each would keep blocks that it has no
 * use for. */
enum { PAGES_APART_MAX = 64 };
INLINE bool pages_apart(void)
{
    return load_relaxed(&pages_several) && load_relaxed(&pages_threads) <= PAGES_APART_MAX;
}

/* A run of `units` whose first is a multiple of `align` units. It is the caller's: state still
 * SPAN_NONE, `zero` tells whether it reads as zero. NULL when memory is out. */
struct span *pages_take(unsigned pool, uint32_t units, uint32_t align);
/* `zero` tells whether it has no pages and reads as zero now. */
void pages_give(struct span *span);
/* In place: the run becomes longer if what follows it is free; or shorter, and the rest is free.
 * `rest_zero`: that has no pages and reads as zero. */
bool pages_extend(struct span *span, uint32_t units);
void pages_shorten(struct span *span, uint32_t units, bool rest_zero);
/* Returns what has been idle since before `since_ms`. The number of bytes. */
size_t pages_return(unsigned pool, uint64_t since_ms);
/* The same, until it is at least `max` bytes. */
size_t pages_return_up_to(unsigned pool, uint64_t since_ms, size_t max);
/* Called now and then on slow paths: returns what has been idle for the option's delay, if it is
 * time to look. */
void pages_tick(uint64_t now_ms);
/* How often to look for idle memory. */
uint64_t pages_look_ms(void);
/* In a forked child: whether a thread that stayed behind was returning a run. */
bool pages_unsettled(void);
/* The same place: lists from states. */
void pages_recover(void);
/* Rebuilds the lists whose locks the calling thread has, after the one that changed them was cut
 * off (recover.c); and gives the locks back. */
void pages_repair(bool give);
/* Nothing is mapped there any more: the run is never used again. */
void pages_lose(struct span *span);

/* Runs are no longer on their way to the kernel, those of this thread or all. */
void pages_returning_stop(bool everywhere);

/* Between pages.c, pages_return.c and pages_recover.c: puts a free run into the list of its length
 * and state; takes it out; makes one that is in no list free, joined with its neighbours. */
void pages_link_locked(struct pages *pages, struct span *span);
void pages_unlink_locked(struct pages *pages, struct span *span);
void pages_release_locked(struct pages *pages, struct span *span, enum span_state state);

#endif
