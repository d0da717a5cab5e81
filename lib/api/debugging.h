/* SPDX-License-Identifier: MIT */
/*
 * Debugged blocks (lib/guard/debug.h) as malloc and free see them. With the option debug every
 * block is one: small ones have words around them; those of a page or more, those of size 0 and
 * those with an owner are guarded (lib/api/guarding.h), as long as there are addresses and memory
 * for that. No block comes from a thread's heap then, so that every call comes to cold code.
 */
#ifndef API_DEBUGGING_H
#define API_DEBUGGING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct caller; /* lib/watch/unwind.h */
struct origin; /* lib/api/cold_inside.h */
struct owner;  /* lib/alloc/owner.h */

/* Between `cold_begin` and `cold_end`. *zero: it reads as zero, which it does if the caller wants
 * that; otherwise it is filled. NULL when memory is out. */
void *debugging_take(size_t size, size_t align, const struct origin *origin, bool *zero);
/* The same for a block that is guarded, as all with an owner are; `owner` may be NULL. Returns NULL
 * where an ordinary block must do. */
void *debugging_take_fenced(struct owner *owner, size_t size, size_t align,
                            const struct origin *origin, bool *zero);
/* Memory is out: freed blocks wait no longer. False: none did. */
bool debugging_yield(const struct caller *caller);
/* From outside: whether p is where debugged blocks are. */
bool debugging_owns(const void *p);
/* Whether a debugged block that lives begins at p. */
bool debugging_lives(const void *p);
/* The block that the program was given within this live block of the allocator, and its size; the
 * block itself if it is not debugged. */
void *debugging_inner(void *block, size_t *size);
/* From outside. Frees a block that `debugging_owns`; `moved`: realloc goes on with another one. */
void debugging_free(void *p, const struct caller *caller, bool moved);
/* A guarded block was freed: it counts in the queue. */
struct cell_event;
void debugging_freed_elsewhere(void *p, size_t size, const struct cell_event *died,
                               const struct caller *caller);
/* From outside: the requested size. No live block, or a stomped one, is reported. */
size_t debugging_size(const void *p, const char *call, const struct caller *caller);
/* `track_born` of the block's record. */
uint64_t debugging_born(const void *p);
/* Whether p, which `debugging_owns`, is not where its block begins. */
bool debugging_is_inside(const void *p);
/* From outside: a delete that tells another size than the block's is reported. */
void debugging_compare(const void *p, size_t size, size_t align, const struct caller *caller);
/* From outside: p is no allocator's block. */
void debugging_refuse(const void *p, const char *call, const struct caller *caller);

/* On request: one live block of a family (enum caller_family); all live and freed ones. What is
 * wrong is reported. */
void debugging_verify(const void *p, unsigned family, const struct caller *caller);
void debugging_verify_all(const struct caller *caller);
/* At the end of the program: the same, and the queue is emptied. */
void debugging_exit(void);
/* Calls `each` for every live block with the size that was asked for. */
void debugging_each(void (*each)(void *context, size_t size), void *context);
/* Whether blocks are debugged; the bytes in the queue of freed ones, and how many there may be
 * (debug_queue.h). */
bool debugging_is_on(void);
size_t debugging_queue_bytes(void);
void debugging_queue_limit(size_t bytes, const int32_t *flag);
/* Lists every call in a file (debug_trace.h). Before the heap starts. */
void debugging_trace(const char *path);

#endif
