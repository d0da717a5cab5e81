/* SPDX-License-Identifier: MIT */
/*
 * Guarded blocks (lib/guard) as malloc and free see them: which blocks are, what is noted about
 * them, how they are counted, and what follows an error. A guarded block lies outside of the
 * window, so the hot path leaves it to cold code by a test that it makes anyway. While all blocks
 * are guarded none comes from a thread's heap, and so every call comes to cold code.
 */
#ifndef API_GUARDING_H
#define API_GUARDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/guard/guard.h"
#include "lib/window/window.h"

struct caller; /* lib/watch/unwind.h */
struct origin; /* lib/api/cold_inside.h */
struct owner;  /* lib/alloc/owner.h */

/* Before the start: one block is guarded for every `spans_every` new spans of blocks, and one in
 * `large_every` large ones; 0: none (jemalloc's san_guard_small and san_guard_large). */
void guarding_ask(uint64_t spans_every, uint64_t large_every);
/* Before the start: one in `every` blocks of these sizes is guarded, from number `seed` on; 0: from
 * any (mimalloc's guarded_sample_rate and its relatives). All calls take the slow path then. */
void guarding_ask_counted(uint64_t every, size_t min, size_t max, uint64_t seed);
/* Between `cold_begin` and `cold_end`. A block, all zero; NULL: an ordinary one must do. `owner`
 * may be NULL. */
void *guarding_take(struct owner *owner, size_t size, size_t align, const struct origin *origin);
/* The same with `guard_spaced`, if this block is one of those that are guarded. */
void *guarding_take_spaced(struct owner *owner, size_t size, size_t align,
                           const struct origin *origin);
/* One of the two above, by the mode that is on; NULL if none is. */
INLINE void *guarding_take_due(struct owner *owner, size_t size, size_t align,
                               const struct origin *origin)
{
    return guard_all      ? guarding_take(owner, size, align, origin)
           : guard_spaced ? guarding_take_spaced(owner, size, align, origin)
                          : NULL;
}
/* The same for a sample of a class, picked at this rate, if it is one of those that are guarded. */
void *guarding_take_sample(struct owner *owner, unsigned rate, unsigned class, size_t size,
                           const struct origin *origin);
/* Whether any block has the alignment, without being asked for it: a guarded one that is smaller,
 * and with guard.tight each, has only that of its size. 1 is no wish. */
INLINE bool guarding_natural(size_t align)
{
    return align == 1 || (align <= GRANULE && !(guard_all || guard_spaced || guard_fences));
}
/* Whether blocks have no byte more than the program asks for. */
bool guarding_exact(void);
/* The program asks for the size that a block will have, or may do so, and then uses all of it: from
 * now on samples that are guarded have the whole size of their class. */
void guarding_make_whole(void);
/* From outside: whether p is in the memory of guarded blocks. */
bool guarding_owns(const void *p);
/* Whether a guarded block that lives begins at p; and its owner, or NULL. */
bool guarding_lives(const void *p);
struct owner *guarding_owner(const void *p);
/* From outside: all guarded blocks of an owner end, as by free. */
void guarding_end_owned(struct owner *owner, const struct caller *caller);
/* Calls `each` for the live blocks of an owner, until it returns false; NULL: those without one or
 * of a deleted one. */
bool guarding_each_owned(const struct owner *owner,
                         bool (*each)(void *context, void *block, size_t size), void *context);
/* From outside. Frees a block that `guarding_owns`; `moved`: realloc goes on with another one. */
void guarding_free(void *p, const struct caller *caller, bool moved);
/* Calls `each` for the pages of all cells; `live`: of a block that lives. */
void guarding_each_range(void (*each)(void *context, uintptr_t start, size_t bytes, bool live),
                         void *context);
/* From outside: the requested size; a pointer to no live block is reported, for `call`. */
size_t guarding_size(const void *p, const char *call, const struct caller *caller);
/* `track_born` of the block's record. */
uint64_t guarding_born(const void *p);
/* Where the live guarded block begins that p is in; NULL: in none. */
const void *guarding_start(const void *p);
/* Whether p, which `guarding_owns`, is not where its block begins. */
bool guarding_is_inside(const void *p);
/* From outside: a delete that tells another size than the block's is reported, or, where only
 * samples are guarded, told as for any block (lib/api/mismatch.h). */
void guarding_compare(const void *p, size_t size, size_t align, const struct caller *caller);
/* From outside: what a free by the family (enum caller_family) would find, without freeing. */
void guarding_verify(const void *p, unsigned family, const struct caller *caller);
/* How many errors were found, with guarded and debugged blocks. */
uint64_t guarding_errors(void);
/* A block begins or ends here and now, by this caller. */
struct cell_event guarding_event(const struct caller *caller);

#endif
