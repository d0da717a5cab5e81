/* SPDX-License-Identifier: MIT */
/*
 * What the files of the slow code (cold.c, cold_large.c, cold_realloc.c) share. Everything here is
 * called between `cold_begin` and `cold_end`, unless it says otherwise.
 */
#ifndef API_COLD_INSIDE_H
#define API_COLD_INSIDE_H

#include "lib/alloc/alloc.h"
#include "lib/api/cold.h"

/* Who asks for a block, and what it goes on from (profile_begin). */
struct origin {
    const struct caller *caller;
    uint64_t born;
};

/* This thread's heap; NULL if it is better off without. */
struct heap *cold_heap(void);
unsigned cold_pool(const struct heap *heap);
/* The rate that this thread picks blocks at. Its heap may not know the one of this moment yet; it
 * matters where every block is picked and would count for many. */
unsigned cold_rate(const struct heap *heap);
/* From outside: a block of any size and alignment. *zero: it reads as zero. */
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

/* Large blocks: a new one; one that `large_take` gave becomes the program's, which counts, marks
 * and perhaps records it. */
void *cold_large_take(struct heap *heap, size_t size, size_t align, const struct origin *origin,
                      bool *zero);
void cold_large_begin(struct heap *heap, void *block, size_t size, const struct origin *origin);
/* One becomes a watched one, if there is memory for its record; and ceases to be one. */
void cold_large_record(void *block, size_t size, const struct origin *origin, unsigned rate);
void cold_large_forget(struct span *span, const struct caller *caller, size_t usable, bool moved);
/* True if `bytes` more of large memory include a sample. */
bool cold_large_rings(struct heap *heap, size_t bytes);
/* What happened to a large block. Without a heap there are sums of the thread's own and all ended
 * threads'. */
void cold_large_count(struct heap *heap, struct heap_sums more);

#endif
