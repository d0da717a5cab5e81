/* SPDX-License-Identifier: MIT */
/*
 * All that a malloc or free may need beyond the hot path: the first call of a process or thread,
 * empty and full bins, samples, large blocks, pointers of others, errors. The place where memory
 * (lib/alloc) and observers (lib/watch) meet.
 *
 * The functions that return a block return NULL when memory is out and leave errno alone: the faces
 * (libc.c, cxx.c) know what their callers expect.
 */
#ifndef API_COLD_H
#define API_COLD_H

#include <stdbool.h>
#include <stddef.h>

struct caller; /* the caller of malloc: lib/watch/unwind.h */
struct owner;

void *cold_malloc(size_t size, const struct caller *caller);
/* The same for a block that goes on from one that realloc is about to free. */
void *cold_malloc_moved(size_t size, const struct caller *caller);
/* Zeroed memory. */
void *cold_calloc(size_t size, const struct caller *caller);
void cold_free(void *p, const struct caller *caller);
/* p != NULL and size != 0. On failure the block stays as it is. */
__attribute__((nonnull(1))) void *cold_realloc(void *p, size_t size, const struct caller *caller);
/* A large block for another size, where it is: its usable size then, or 0 if that can't be. */
size_t cold_resize(void *p, size_t size, const struct caller *caller);
/* `align` is a power of two. */
void *cold_aligned(size_t align, size_t size, const struct caller *caller);
/* An ordinary block stays where it is for another size: one more call is counted. */
void cold_kept(void *p, size_t size);
size_t cold_usable(const void *p);
/* Whether p is a live block that `cold_free` would take. */
bool cold_is_block(const void *p);
/* Whether p lies in memory that blocks come from: it may be free, or in the middle of a block. */
bool cold_owns(const void *p);

/* Blocks with an owner (lib/alloc/owner.h); lib/api/owned.h is their hot path. */
/* Any size and alignment, a power of two. *zero: it reads as zero. NULL when memory is out. */
void *cold_owned_take(struct owner *owner, size_t size, size_t align, const struct caller *caller,
                      bool *zero);
/* All blocks are freed, their records end, the owner is gone. No thread may be using it. */
void cold_owned_destroy(struct owner *owner, const struct caller *caller);
/* The same, but that the owner stays. */
void cold_owned_reset(struct owner *owner, const struct caller *caller);
/* The blocks stay, and belong to the rest from now on. */
void cold_owned_delete(struct owner *owner);
/* `bound`: it is deleted when the calling thread ends, unless that has happened. NULL when memory
 * is out. */
struct owner *cold_owned_new(bool bound);
/* The blocks of the calling thread come from this owner, if malloc and its family are asked; NULL:
 * from none again. False where the thread can have none. */
bool cold_owned_default(struct owner *owner);
/* Where memory comes from instead of the kernel. `grow` asks for a piece, and is true if the heap
 * itself could be given it (`hold_more`, `pages_give`); otherwise the block that is needed is
 * one of `lender`, whose `lend` is set. Without a lender: the kernel again. */
struct memory_source {
    bool (*grow)(size_t bytes);
    struct owner *lender;
};
void cold_set_source(struct memory_source source);
/* From outside, any pointer: frees a live block that has an owner, no record, and room in the
 * thread's front. */
bool cold_owned_push(void *p);

/* The calling thread has a heap from now on. False where it can have none. */
bool cold_grow_up(void);

/* Enters the slow code, for callers that record something there, and leaves it. False if this
 * thread is inside already (a signal handler interrupted it, or libc allocates in one of our own
 * calls), or if the allocator could not start. `caller`, if not NULL, is in the frame of a function
 * that waits for the end (lib/api/abandoned.h). */
bool cold_begin(const struct caller *caller);
void cold_end(void);

/* In a forked child, by the thread that forked: mends what the others left behind, unless this one
 * was interrupted inside; then its next slow call does. */
void cold_fork_child(void);
/* The same in a child that was not made by libc's fork, if nothing has mended it yet. */
void cold_settle(void);
/* The thread is ending. */
void cold_thread_end(void);
/* The rate of sampling changes for all threads. */
void cold_set_rate(long long bytes);
/* Frees as much as can be given to the kernel now; returns how many bytes. */
size_t cold_trim(void);
/* There are functions to be called for each block, or no more (lib/api/hooks.h). */
void cold_hooks_changed(void);
/* Free pages only, until it is at least `max` bytes; returns how many. */
size_t cold_release(size_t max);
/* At the end of the program: looks at all debugged blocks (lib/api/debugging.h). */
void cold_verify(void);
/* The calling thread keeps no free blocks for itself. */
void cold_flush(void);

#endif
