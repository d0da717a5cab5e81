/* SPDX-License-Identifier: MIT */
/*
 * Blocks with an owner: a heap of mimalloc's, an arena of jemalloc's, whatever is destroyed as a
 * whole. An owner has spans of its own, so ending it needs to look at no other block. Its blocks
 * have the live byte of a watched one: every free leaves the hot path by the test that it makes
 * anyway, and the span says whose they are.
 *
 *      heap (one a thread)              owner
 *      fronts --> front --> front       lists[plain, recorded][class]: spans, full and others
 *                  | owner, clock       large: its large blocks
 *                  '-> bin a class      fronts: those of all threads
 *
 * A front is what a thread keeps of an owner, a bin of free blocks a class: the thread that
 * allocates takes and gives blocks there without a lock. A thread without one, and a bin that is
 * empty or full, goes to the owner's lists, under its lock. The blocks in a bin are `out` of the
 * owner, as those of the program are.
 *
 * An owner is never freed: when it has ended it waits for the next one. A deleted one keeps the
 * blocks that live; with the last of its spans it ends. A block of an owner that a room above keeps
 * elsewhere (a guarded one) counts as a span.
 *
 * Locks: an owner's lists have its lock (of the rank of a centre's), the lists of fronts and of
 * owners `heap_lock`.
 */
#ifndef ALLOC_OWNER_H
#define ALLOC_OWNER_H

#include "lib/alloc/heap.h"
#include "lib/alloc/large.h"

enum { OWNED_PLAIN, OWNED_RECORDED, OWNED_LISTS };

/* The blocks of a class. */
struct owned {
    uint32_t some, none; /* spans with free blocks, and without; ids */
    uint32_t spans;
    uint32_t out;                  /* blocks that are not in the spans */
    uint32_t here;                 /* free blocks in the spans */
    uint64_t mallocs;              /* without those that fronts have counted */
    uint32_t fills, flushes, made; /* as in a centre's list */
};

/* Blocks that lie in no span of the owner. */
struct owned_elsewhere {
    uint32_t live;
    uint64_t large_bytes;                              /* of large ones that live */
    uint64_t mallocs[CLASS_COUNT], lives[CLASS_COUNT]; /* by class */
};

struct owner {
    struct lock lock;
    bool alive;
    bool deleted;   /* the program has no handle of it any more */
    uint32_t spans; /* in all lists, with the large ones and those elsewhere */
    uint32_t large; /* large blocks; id */
    struct front *fronts;
    struct owner *all; /* every owner there ever was */
    struct owner *unused;
    struct heap *maker; /* of the thread that made it, while that one runs */
    uint64_t tag;       /* for the face that it belongs to */
    /* Its large blocks: how many there were, how many ended, bytes of those that live. */
    uint64_t large_allocs, large_frees, large_bytes;
    struct large_count *large_counts; /* by size (large.h), from the first on; NULL: none */
    struct owned_elsewhere elsewhere;
    /* NULL, or the program's own memory in the place of pages: called from outside of the
     * allocator; *zero as in `large_take`. */
    void *(*lend)(struct owner *owner, size_t size, size_t align, bool *zero);
    struct owned lists[OWNED_LISTS][CLASS_COUNT];
};

struct front_bin {
    uint32_t count, cap;
    uint64_t mallocs, frees;           /* by the front's thread */
    uint64_t told_mallocs, told_frees; /* what rooms above have made of them */
    void *slots[];
};

struct front {
    struct owner *owner;   /* NULL: it has ended; the front waits for another */
    uint32_t id;           /* of that owner, or 0 */
    struct front *next;    /* of the same heap */
    struct front *sibling; /* of the same owner */
    int64_t clock;         /* bytes until the next sample, */
    uint32_t generation;   /* in this mode */
    struct front_bin *bins[CLASS_COUNT];
};

/* NULL when memory is out. */
struct owner *owner_new(void);
/* Every owner there ever was, by `all`. */
struct owner *owner_first(void);
/* Whose span it is; NULL: it has none. */
INLINE struct owner *owner_of(const struct span *span)
{
    uint32_t id = load_relaxed(&span->owner);
    return span->kinds & KIND_OWNED ? meta_at(id) : NULL;
}

/* As central_hold and central_release, for spans with an owner. */
bool owner_hold(const struct span *span);
void owner_release(const struct span *span);

/* Up to `wanted` blocks into slots[0] and upwards; returns how many. */
unsigned owner_take(struct owner *owner, unsigned pool, unsigned class, unsigned list, void **slots,
                    unsigned wanted);
/* Counts blocks that went to the program past the fronts. */
void owner_count(struct owner *owner, unsigned class, unsigned list, uint64_t mallocs);
/* Blocks of any owner come home. Aborts on one that is home already. */
void owner_give(void *const *slots, unsigned count);
/* A large block gets an owner, or loses it before it ends; or became longer or shorter. */
void owner_add_large(struct owner *owner, struct span *span);
void owner_remove_large(struct span *span);
void owner_resized_large(struct span *span, size_t before);
/* A block that lies in no span begins or ends: of `class`, or of `bytes` bytes if that is
 * CLASS_COUNT: a large one. */
void owner_add_elsewhere(struct owner *owner, unsigned class, size_t bytes);
void owner_remove_elsewhere(struct owner *owner, unsigned class, size_t bytes);

/* The blocks of a class, or in row 0 the large ones: those that ever were, those that live, those
 * in bins of fronts, those that are free in spans, and the spans; how often blocks were taken for a
 * bin or came home from one, and the spans that were ever made. */
struct owner_sum {
    uint64_t mallocs, live, cached, here, spans, fills, flushes, made;
};
void owner_sums(const struct owner *owner, struct owner_sum sums[CLASS_COUNT]);
/* Threads whose blocks come from this owner if malloc is asked. */
uint32_t owner_threads(const struct owner *owner);

/* The program has no more handle: the owner ends with its last block. */
void owner_delete(struct owner *owner);
/* Ending an owner with all its blocks, step by step, so that the caller can end their records: no
 * front has its blocks any more; then one span after the other, out of its lists, until NULL, which
 * the caller gives back (`cut_end`, or as a large block); then the owner waits for reuse. */
void owner_end_begin(struct owner *owner);
struct span *owner_end_next(struct owner *owner);
void owner_end(struct owner *owner);

/* The front of the heap for this owner, first in its list from now on; or NULL. */
struct front *front_find(struct heap *heap, const struct owner *owner);
/* The same, made if need be. NULL when memory is out. */
struct front *front_get(struct heap *heap, struct owner *owner);
/* A bin of it that has blocks, or one that has room. False when memory is out. */
bool front_refill(struct front *front, unsigned pool, unsigned class);
bool front_spill(struct front *front, unsigned class);
/* A recorded block of the front's thread went home: another one comes into the bin, so that a free
 * has filled it as any other does. */
void front_replace(struct front *front, unsigned pool, unsigned class);
/* The heap has no front of this owner any more. */
void front_leave(struct heap *heap, const struct owner *owner);
/* All blocks of all fronts of the heap go home; and the fronts end. */
void fronts_flush(struct heap *heap);
void fronts_end(struct heap *heap);
/* In a forked child, of a heap whose thread stayed behind: the same, block by block with care. */
void fronts_salvage(struct heap *heap);
/* What the thread of this heap has allocated and freed through fronts. */
void fronts_sums(const struct heap *heap, struct heap_sums *sums);

/* In a forked child: as central_break and central_recover; after a jump: as central_repair. */
bool owners_break(uint32_t parent_id);
void owners_recover(void);
void owners_repair(bool give);

/* A block, or NULL: the slow way. Only for the heap's own thread. */
INLINE void *front_pop(struct front *front, unsigned class)
{
    struct front_bin *bin = front->bins[class];
    if (unlikely(bin == NULL || bin->count == 0))
        return NULL;
    void *block = bin->slots[bin->count - 1];
    store_relaxed(&bin->count, bin->count - 1);
    add_relaxed(&bin->mallocs, 1);
    return block;
}

INLINE bool front_push(struct front *front, unsigned class, void *block)
{
    struct front_bin *bin = front->bins[class];
    if (unlikely(bin == NULL || bin->count == bin->cap))
        return false;
    bin->slots[bin->count] = block;
    store_relaxed(&bin->count, bin->count + 1);
    add_relaxed(&bin->frees, 1);
    return true;
}

#endif
