/* SPDX-License-Identifier: MIT */
/*
 * A heap: what one thread allocates from without a lock. For each mark it has a bin, a stack of
 * free blocks; the blocks themselves are not touched. free pushes a block to the bin of its mark.
 * malloc pops from the bin of the mark that this heap gives blocks of the class; so the bins for
 * small blocks of other colours only ever fill and go home.
 *
 *      bin                       stock (in metadata memory, made at the class's first use)
 *      top    a copy of --.      drawn, taken, ...
 *      slots  ------------|----> slots[0] = 0: the bottom, where pop finds "empty"
 *      limit  --------.   '----> slots[n]   the block that malloc returns next
 *      clock          '--------> slots[cap] where push finds "full"
 *
 * A slot is one word: a block, and at which place of the stock it stands. So malloc has its block
 * after one load, which matters where it follows a free and the word has hardly been written; and
 * one store changes the bin, so that a signal handler finds it before or after, never in between.
 *
 * `clock` counts down the mallocs until the next sampled one, so one number serves two ends: the
 * sampler, and the count of mallocs, which is `drawn - clock` and costs nothing of its own.
 *
 * A thread finds its heap through `heap_now`. To make all threads notice something, the controller
 * stores `heap_empty` there, whose bins are empty and full at once: the next malloc or free of each
 * thread goes cold, sees the new generation, and puts its heap back (ordering: `heap_arm`).
 */
#ifndef ALLOC_HEAP_H
#define ALLOC_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arch.h"
#include "lib/alloc/central.h"
#include "lib/alloc/delay.h"
#include "lib/alloc/slot.h"
#include "lib/window/window.h"

struct stock {
    uint64_t drawn; /* sum of what the clock was ever set to, less what was left each time */
    int64_t taken;  /* blocks from the centre, less blocks to it */
    uint32_t wait;  /* blocks to wait for after the clock's end */
    /* At the last look for idle bins: `heap_mallocs`, or `taken` in a bin of another colour than
     * the heap's. The same number at the next look means idle. */
    uint32_t seen;
    uint16_t cap;   /* slots that may be used */
    uint16_t room;  /* slots that there are */
    uint16_t batch; /* blocks to take at the next refill */
    /* +2 a refill until it is 6 or more, -1 a spill. At 6 or more a refill may grow the bin; a
     * spill may, too, and sets it to 0. */
    uint8_t swings : 3;
    bool armed : 1; /* the clock's end is a sample if nothing more is to wait for */
    /* Refills and spills, of the heap's last 64 to 128; `stretch` numbers stretches of 64. */
    uint8_t lately : 4;
    uint8_t stretch;
    uint64_t slots[];
};

_Static_assert(sizeof(struct stock) == 32, "the smallest stock is one cache line");

/* Blocks and bytes that went the long way and were counted. */
struct heap_sums {
    uint64_t allocs, frees, alloc_bytes, free_bytes;
};

/* To sums that only the calling thread writes. */
INLINE void heap_sums_add(struct heap_sums *sums, const struct heap_sums *more)
{
    add_relaxed(&sums->allocs, more->allocs);
    add_relaxed(&sums->frees, more->frees);
    add_relaxed(&sums->alloc_bytes, more->alloc_bytes);
    add_relaxed(&sums->free_bytes, more->free_bytes);
}

INLINE void heap_sums_store(struct heap_sums *sums, const struct heap_sums *now)
{
    store_relaxed(&sums->allocs, now->allocs);
    store_relaxed(&sums->frees, now->frees);
    store_relaxed(&sums->alloc_bytes, now->alloc_bytes);
    store_relaxed(&sums->free_bytes, now->free_bytes);
}

/* At which rate the blocks of a heap's bins are picked (lib/heap/pace.h). */
struct heap_pace {
    int64_t rate;          /* that of all threads when the heap was configured, */
    uint64_t since;        /* when `samples` was 0, in ticks */
    uint32_t samples;      /* taken since then */
    uint8_t number;        /* of that rate */
    uint8_t doublings;     /* of the rate in this heap, */
    uint8_t doublings_max; /* and how many there may be */
    uint8_t turns_free;    /* how many more turns, of PACE_SAMPLES each, are not judged */
};

/* Spares (spare.h). Blocks up to 512 bytes are so rarely samples that none is kept. */
enum { SPARE_FIRST = CLASS_SMALL_LAST - 7, SPARE_CLASSES = CLASS_COUNT - SPARE_FIRST, SPARES = 2 };

/* What the program wants of a thread's bins: jemalloc's thread.tcache.*. Blocks that may not be in
 * a bin go between the program and the centre one by one. */
struct heap_cache {
    bool bounded;                 /* what follows counts */
    bool off;                     /* no block of any class */
    uint32_t max;                 /* none above this size */
    uint16_t bounds[CLASS_COUNT]; /* and at most this many of a class */
};
extern HIDDEN struct heap_cache heap_cache_first; /* of a new thread */

struct heap {
    /* The bins, by mark: five arrays, so that each number is one scaled address away. */
    uint64_t top[MARK_COUNT];    /* the newest slot; 0: empty */
    uintptr_t live[MARK_COUNT];  /* a copy of `window.live`, nearer; 0 in `heap_empty` */
    uint64_t *slots[MARK_COUNT]; /* NULL where the bin was never used */
    int32_t clock[MARK_COUNT];
    uint16_t limit[MARK_COUNT];        /* the place of the last slot */
    uint8_t marks[SMALL_GRANULES + 1]; /* size of a small block in granules -> its mark here */
    /* From here on: cold. */
    uint8_t colour, pool, side;
    uint8_t evened; /* the mark of the bin that made room for another last */
    uint8_t rings;  /* ends of clocks close to a new peak */
    bool watched;   /* the bins hold blocks of watched spans */
    bool alive;
    bool inherited; /* of a thread of the parent's, maybe of the one that forked (heap_claim) */
    uint32_t tid;
    uint64_t stocked[2];        /* a bit for each mark that has a stock */
    uint16_t noted[MARK_COUNT]; /* blocks in the bin at its last slow visit, */
    int64_t unshared;           /* and bytes of them that the sum of all heaps does not have yet */
    struct heap **now;          /* the thread's `heap_now` */
    struct heap *all;           /* every heap there ever was */
    struct heap *free;          /* heaps without a thread: unused, or parked */
    uint32_t generation;        /* the mode this heap was last configured for, */
    uint32_t short_roads;       /* and the one in which hardened calls take the short roads */
    uint32_t visits;            /* cold calls of frequent kinds; one in 16 looks at the time */
    uint32_t ticks;             /* looks at the time: calls of `heap_tick` */
    uint32_t turns;             /* refills and spills, */
    uint32_t stolen_turns;      /* at which the last bins made room for another, */
    uint32_t even_from;         /* and from which on it pays to ask large ones for it */
    uint32_t came_ms;           /* the last cold visit, */
    uint32_t part_ms;           /* the last one that a clock caused, */
    uint32_t hurried_ms;        /* and when the clocks were last made short */
    uint32_t part;              /* mallocs of a bin between two visits */
    size_t dirty_seen;          /* free pages of the pool that no hurry is needed for */
    uint32_t looked_ms;         /* when idle bins were last emptied, or it was parked */
    size_t cache_bytes;         /* sum over bins of cap * size */
    int64_t large_clock;        /* bytes of large blocks until the next sample */
    uint64_t random;            /* the sampler's generator */
    struct heap_pace pace;
    struct heap_cache cache;
    struct heap_sums large; /* blocks */
    void *spares[SPARE_CLASSES * SPARES];
    struct delay *delay;   /* freed blocks that wait (delay.h); NULL unless they are hardened */
    struct front *fronts;  /* what the thread keeps of owners (owner.h), */
    struct heap_sums past; /* counted by the thread, neither in bins nor as large, */
    struct owner *default_owner; /* and the owner of all its blocks; NULL: none */
    void *counted; /* for rooms above: what belongs to this heap elsewhere; stays with it */
};

_Static_assert(MARK_COUNT <= 8 * sizeof((struct heap *)0)->stocked, "a bit for each mark");

extern HIDDEN struct heap heap_empty;
extern HIDDEN __thread struct heap *heap_now;  /* hot: read once by every malloc and free */
extern HIDDEN __thread struct heap *heap_self; /* this thread's heap, whatever heap_now says */

INLINE struct stock *heap_stock(const struct heap *heap, unsigned mark)
{
    uint64_t *slots = load_acquire(&heap->slots[mark]);
    return slots == NULL ? NULL : (struct stock *)slots - 1;
}

/* The blocks of a bin as its own thread changes them; `place` is that of the newest one. */
INLINE void bin_pop(struct heap *heap, size_t mark, size_t place)
{
    heap->top[mark] = heap->slots[mark][place - 1];
}

INLINE void bin_push(struct heap *heap, size_t mark, size_t place, const void *block)
{
    uint64_t slot = slot_make(block, place) + 1;
    heap->slots[mark][place + 1] = slot;
    heap->top[mark] = slot;
}

/* The block that the next malloc from the bin gets; NULL: the bin is empty. */
INLINE void *bin_next(const struct heap *heap, size_t mark)
{
    return slot_block(heap->top[mark]);
}

void heap_init(void);
/* Gives the calling thread a heap: a parked one, of whatever colour, or a fresh one. NULL when
 * memory is out. */
struct heap *heap_make(unsigned colour, unsigned pool);
/* The pool for a new thread: that of its node, or, beyond 128 threads, one of several. */
unsigned heap_pool_here(uint32_t thread);
/* The calling thread's side, from its first call on. It decides from which spans blocks are taken
 * (central.h); a parked heap brings its own. */
uint32_t heap_side(void);
/* The calling thread is ending. Its heap is parked with what it has, for the next thread that needs
 * one; or, when enough are, everything goes home. The thread may make another one later. */
void heap_end(struct heap *heap);
/* Whether there is a parked one (a moment ago). */
bool heap_parked(unsigned pool);
/* Gives back heaps that have been parked for `idle_ms`, unless another thread has the lock. With 0
 * it waits for the lock and gives all of them back. */
void heap_drop_parked(uint64_t now_ms, uint64_t idle_ms);

/* The generation changes with every call of `heap_interrupt`, which makes every thread go cold.
 * *noted, unless it is NULL, is the new one before any thread sees it. */
extern HIDDEN uint32_t heap_generation_now;
INLINE uint32_t heap_generation(void)
{
    return load_acquire(&heap_generation_now);
}
void heap_interrupt(uint32_t *noted);
/* Makes the heap hot after it was configured for `generation`. False: changed again, once more. */
bool heap_arm(struct heap *heap, uint32_t generation);

/* While a bin changes: the hot path does not find the calling thread's heap. False if it would not
 * have anyway. */
bool heap_hide(const struct heap *heap);
void heap_show(struct heap *heap);

/* More blocks into an empty bin. False when memory is out. */
bool heap_refill(struct heap *heap, unsigned mark);
/* Room in a full bin. False when there can be none. */
bool heap_spill(struct heap *heap, unsigned mark);
/* A block of the bin, not marked yet, past the clock, which may have any time left. NULL when
 * memory is out. */
void *heap_pop(struct heap *heap, unsigned mark);
/* With `heap->watched`: a block for the program, past the clock, which has run out for good. NULL
 * when memory is out. */
void *heap_pop_watched(struct heap *heap, unsigned mark);
/* And one back. False when there is no room. */
bool heap_push_watched(struct heap *heap, unsigned mark, void *block);
/* Whether the block still stands above the bin's top. */
bool heap_popped_lately(const struct heap *heap, unsigned mark, const void *block);
/* With `harden`, by the heap's own thread: a block of the bin, not marked yet. NULL: the bin is
 * empty, or its clock has run out. */
INLINE void *heap_pop_hardened(struct heap *heap, size_t mark)
{
    uint64_t top = heap->top[mark];
    if (unlikely(top == 0 || arch_count_down(&heap->clock[mark], 1)))
        return NULL;
    bin_pop(heap, mark, slot_place(top));
    return slot_block(top);
}
/* And one back: wiped, it waits at `place`, and what has waited there comes to its bin. */
INLINE void heap_push_delayed(struct heap *heap, size_t mark, struct delay_queue *queue,
                              void **place, void *block)
{
    void *waited = *place;
    store_relaxed(place, block);
    delay_next(heap->delay, queue);
    bin_push(heap, mark, slot_place(heap->top[mark]), waited);
}
/* The same where nothing has waited, or the bin is full. It has a stock. */
void heap_push_waiting(struct heap *heap, unsigned mark, void *block);
/* Whether blocks of this mark may not be in its bin, which then has a stock all the same: for the
 * clock, and for `heap_take_one`, a block of the centre. NULL when memory is out. */
bool heap_uncached(const struct heap *heap, unsigned mark);
void *heap_take_one(struct heap *heap, unsigned mark);
/* `heap->cache` has changed, in the heap's own thread: what is too much goes home. */
void heap_bound(struct heap *heap);
/* All bins go home. */
void heap_flush(struct heap *heap);
/* Called on the cold path now and then: empties idle bins, returns idle pages. The time. */
uint64_t heap_tick(struct heap *heap);

/* Only while more bytes than these are held, all bins are noted (held.h) at the end of each part of
 * a wait. */
void bins_note_above(uint64_t held);
/* The slow path is taken at least once in this many bytes of mallocs from a bin. */
void bins_part(uint32_t bytes);
/* Sets the clock so that `blocks` more mallocs pass before the one that is a sample. */
void heap_set_clock(struct heap *heap, unsigned mark, uint64_t blocks);
/* How many mallocs this part of a clock's wait may be long that is to have `max`; the bin has a
 * stock. */
uint32_t heap_part_max(const struct heap *heap, unsigned mark, uint32_t max);
/* While the heap is hidden: this part, of which `left` mallocs are left, is `part` mallocs long
 * from now on, or what the wait has. */
INLINE void heap_set_part(struct heap *heap, unsigned mark, struct stock *stock, uint32_t left,
                          uint32_t part)
{
    uint32_t more = part - left;
    more = more <= stock->wait || left > part ? more : stock->wait;
    stock->wait -= more;
    add_relaxed(&stock->drawn, (uint64_t)(int32_t)more);
    store_relaxed(&heap->clock[mark], (int32_t)(left + more));
}
/* The clock has run out. True if that was the end of the wait; else it is set for the next part of
 * it: no wait is so long that a busy thread would not come by now and then. */
bool heap_clock_over(struct heap *heap, unsigned mark);

/* Counts a block that realloc leaves where it is: a malloc and a free. False if the heap has no bin
 * of this mark: then it is only in the sums of all threads. */
bool heap_count_kept(struct heap *heap, unsigned mark);
/* Sums. `heap_mallocs` is exact in the heap's own thread. */
uint64_t heap_mallocs(const struct heap *heap, unsigned mark);
uint64_t heap_frees(const struct heap *heap, unsigned mark);
size_t heap_cached(const struct heap *heap, unsigned mark);
struct heap *heap_first(void);
uint32_t heap_count(void);   /* heaps that there are, with a thread or without */
uint32_t heap_threads(void); /* those with a thread */
uint64_t heap_retired_mallocs(unsigned class);
extern HIDDEN struct heap_sums heap_retired_large; /* of ended heaps, and of threads without one */
void heap_count_ended(const struct heap_sums *more);
void heap_count_retired(unsigned class, uint64_t mallocs); /* the same of blocks with a class */

/* In a forked child. If the calling thread is the one that forked (`first`), the other threads'
 * heaps go home; if not, no thread touches another's heap until that one calls
 * `heap_claim`. */
void heap_recover(bool first);
void heap_claim(void);
/* What a call left that a signal handler jumped out of (recover.c). */
void heap_abandoned(void);
extern HIDDEN struct lock heap_lock;

#endif
