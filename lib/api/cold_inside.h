/* SPDX-License-Identifier: MIT */
/*
 * What the parts of the slow code share (cold.c lists them). Everything here is
 * called between `cold_begin` and `cold_end`, unless it says otherwise.
 */
#ifndef API_COLD_INSIDE_H
#define API_COLD_INSIDE_H

#include "lib/alloc/alloc.h"
#include "lib/api/cold.h"
#include "lib/api/young.h"

/* Where a new block comes from, for its record if it gets one. */
struct origin {
    const struct caller *caller; /* the call that asks for it */
    /* 0 for a new object. If realloc moves one to this block: `track_born` of the old block's
     * record, or TRACK_MOVED if it had none. */
    uint64_t born;
    bool clear; /* the caller wants zeros */
};

/* This thread's heap; NULL: it has none yet. `often`: for a frequent kind of call, so that not each
 * of them looks at the time. */
struct heap *cold_heap(bool often);
/* The same, made at once even for a thread with few calls; NULL: the thread is ending, or memory is
 * out. */
struct heap *cold_heap_made(void);
/* The same for what is noted there about the thread: also while all blocks are guarded or debugged,
 * when no block comes from heaps. */
struct heap *cold_heap_adopted(void);
unsigned cold_pool(const struct heap *heap);
/* The number of the rate at which this thread picks blocks, which may still be the one before the
 * last change: where every block is picked, none may count for many. */
unsigned cold_rate(const struct heap *heap);
/* The same for blocks of its bins, which may be picked at another one (lib/heap/pace.h). */
unsigned cold_bin_rate(const struct heap *heap);
/* Sets the clocks of all bins anew, for that rate. */
void cold_set_clocks(struct heap *heap);
/* A block of a class begins its life, for `size` bytes. */
void cold_live(void *block, unsigned class, size_t size);
/* A block of a watched span gets its record, and begins. */
void cold_record(void *block, unsigned class, size_t size, const struct origin *origin,
                 unsigned rate);
/* The same for a block of such a span that is no sample: memory is out, and no other was free. */
void cold_unrecorded(void *block, unsigned class, size_t size);
/* From outside: a block of any size and alignment; COLD_ANY: that of all blocks. *zero: it reads as
 * zero. */
enum { COLD_ANY = 1 };
void *cold_take(size_t size, size_t align, const struct origin *origin, bool *zero);
/* The heap is largest right before it shrinks: to be called there. */
void cold_look_at_peak(void);
/* Frees a large or a watched block. `moved`: realloc goes on with another one. */
void cold_free_watched(void *p, struct heap *heap, const struct caller *caller, bool moved);
/* From outside: the mark of p if p may be a block at all; MARK_FREE otherwise. *ours: p is in the
 * window. */
unsigned cold_mark(const void *p, bool *ours);
/* From outside: the usable size of p, or the end of the program with a message about `call`. */
size_t cold_usable_for(const void *p, const char *call);

/* A new large block. */
void *cold_large_take(struct heap *heap, size_t size, size_t align, const struct origin *origin,
                      bool *zero);
/* Counts and marks a block of `large_take`, and records it if it is a sample. */
void cold_large_begin(struct heap *heap, void *block, size_t size, const struct origin *origin);
/* Makes a large block a watched one, if there is memory for its record; and an ordinary one again.
 */
void cold_large_record(void *block, size_t size, const struct origin *origin, unsigned rate);
void cold_large_forget(struct span *span, const struct caller *caller, size_t usable, bool moved);
/* True if `bytes` more of large memory include a sample. */
bool cold_large_rings(struct heap *heap, size_t bytes);
/* Counts what happened to a large block: in the heap, or without one in the sums of the thread and
 * of ended threads. */
void cold_large_count(struct heap *heap, struct heap_sums more);
/* The same without the counts by size: the caller has those. */
void cold_large_sum(struct heap *heap, struct heap_sums more);

/* A block with an owner; and one that lives no more goes home. */
void *cold_owned_inside(struct owner *owner, size_t size, size_t align, const struct origin *origin,
                        bool *zero);
void cold_owned_give(void *p, struct span *span, struct heap *heap);
/* From outside: a block of memory that the program lends to the owner. NULL: it lends none. */
void *cold_lent_take(struct owner *owner, size_t size, size_t align, bool *zero);
/* The source of memory when the heap is full (`cold_set_source`), unless it is the caller. */
extern HIDDEN struct memory_source cold_source;
INLINE bool cold_has_source(void)
{
    return load_acquire(&cold_source.lender) != NULL && !young.lending;
}
/* From outside: true if the heap has more memory now, at least this much. */
bool cold_source_grow(size_t size, size_t align);
/* The thread ends: what it has of owners goes home. */
void cold_owned_end(struct heap *heap);

#endif
