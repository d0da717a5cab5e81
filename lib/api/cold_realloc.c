/* SPDX-License-Identifier: MIT */
/*
 * realloc on the slow path. A block stays where it is if the new size suits it, grows or shrinks in
 * place if it is large, moves with its pages, or is copied.
 */
#include <string.h>

#include "base/os.h"
#include "lib/api/cold_inside.h"
#include "lib/api/debugging.h"
#include "lib/api/filling.h"
#include "lib/api/guarding.h"
#include "lib/api/hardening.h"
#include "lib/api/hooks.h"
#include "lib/api/young.h"
#include "lib/heap/observer.h"
#include "lib/process/process.h"
#include "lib/watch/watch.h"

/* From this size on the kernel moves the pages, if the new run is untouched or the block is. */
enum { MOVE_MIN = 256 << 10 };

static void resized(struct heap *heap, void *p, struct span *span, size_t before, size_t size,
                    const struct caller *caller);
static void *realloc_large(void *p, struct span *span, size_t size, const struct caller *caller);

size_t cold_resize(void *p, size_t size, const struct caller *caller)
{
    bool ours;
    size_t now = 0, filled = 0;
    if (cold_mark(p, &ours) == MARK_FREE || span_of(p)->state != SPAN_LARGE || size <= BLOCK_MAX ||
        !cold_begin(caller))
        return 0;
    struct span *span = span_of(p);
    size_t before = large_size(span);
    struct heap *heap = cold_heap(false);
    if (unlikely(load_relaxed(&hooks_any)))
        filled = cold_usable(p);
    cold_look_at_peak();
    if ((size <= before || arena_grants(size - before)) && large_resize(span, size)) {
        resized(heap, p, span, before, size, caller);
        now = cold_usable(p);
    }
    growth_note(caller);
    cold_end();
    if (unlikely(load_relaxed(&hooks_any)) && now != 0)
        filling_grown(p, filled);
    return now;
}

/* A block that became longer may become a sample by that; one that became shorter may cease to be
 * one. Either way it is one with the probability of its new size. */
static void resized(struct heap *heap, void *p, struct span *span, size_t before, size_t size,
                    const struct caller *caller)
{
    size_t now = large_size(span);
    struct origin origin = {caller, TRACK_MOVED, false};
    unsigned rate = 0;
    uint32_t site = 0;
    bool known = false;
    cold_large_count(heap, (struct heap_sums){1, 1, now, before});
    owner_resized_large(span, before);
    if (span->kinds & KIND_RECORDED) {
        struct large_record *place = meta_at(span->record);
        origin.born = track_born(&place->record);
        known = track_rate(&place->record, &rate);
        site = place->record.site;
        cold_large_forget(span, caller, before, true);
        store_relaxed(live_at(p), live_sign(p));
    }
    uint64_t *random = heap == NULL ? &young.random : &heap->random;
    if (known) {
        if (now >= before || sampler_keeps(random, before, now, sampler_rate_of(rate)))
            cold_large_record(p, size, &origin, rate);
        if (span->kinds & KIND_RECORDED)
            track_again(&((struct large_record *)meta_at(span->record))->record, site);
    } else if (now > before && cold_large_rings(heap, now - before)) {
        cold_large_record(p, size, &origin, cold_rate(heap));
    }
}

static void count_kept(unsigned mark)
{
    size_t size = class_size(mark_class(mark));
    struct heap *heap = load_relaxed(&heap_now);
    if (likely(heap_count_kept(heap, mark))) {
        counts_bin(heap, mark);
        return;
    }
    young_sum((struct heap_sums){1, 1, size, size});
    counts_direct(mark_class(mark), 1, 1);
}

void cold_kept(void *p, size_t size)
{
    if (unlikely(load_relaxed(&hooks_any)))
        hooks_call_resized(p, p, size);
    count_kept(mark_of(p));
}

/* A watched block of a class stays for another size. */
static void renew_record(struct span *span, void *p, size_t usable, size_t size,
                         const struct caller *caller)
{
    struct record *place = central_record(span, p);
    if (place == NULL)
        return;
    uint32_t site = place->site;
    uint64_t born = track_born(place);
    unsigned rate;
    bool known = track_rate(place, &rate);
    track_end(place, caller, usable, usable - place->slack, true);
    if (known)
        track_begin(place, caller, mark_class(span->mark), usable, size, born, rate);
    if (known)
        track_again(place, site);
}

/* The same block for another size: it counts anew, and of a watched one the last caller is
 * remembered. */
static void renew(void *p, unsigned mark, size_t size, const struct caller *caller)
{
    struct span *span = span_of(p);
    /* Not what malloc_usable_size tells, which is less while blocks are hardened. */
    bool large = span->state == SPAN_LARGE;
    size_t usable = large ? large_size(span) : class_size(mark_class(span->mark));
    if (!cold_begin(caller))
        return;
    struct heap *heap = cold_heap(false);
    if (large) {
        resized(heap, p, span, usable, size, caller);
    } else {
        count_kept(span->mark);
        if (mark == MARK_WATCHED)
            renew_record(span, p, usable, size, caller);
    }
    cold_end();
}

/* Always another block: what still points to the old one is found then. */
static void *realloc_guarded(void *p, size_t size, const struct caller *caller)
{
    bool zero, guarded = guarding_owns(p);
    size_t usable =
        guarded ? guarding_size(p, "realloc", caller) : debugging_size(p, "realloc", caller);
    struct origin origin = {caller, guarded ? guarding_born(p) : debugging_born(p), false};
    void *block = cold_take(size, COLD_ANY, &origin, &zero);
    if (block == NULL)
        return size <= usable ? p : NULL;
    large_copy_sparse(block, p, size < usable ? size : usable);
    if (unlikely(load_relaxed(&hooks_any)))
        hooks_call_delete(p);
    if (guarded)
        guarding_free(p, caller, true);
    else
        debugging_free(p, caller, true);
    return block;
}

static void *realloc_any(void *p, size_t size, const struct caller *caller)
{
    bool ours, zero;
    unsigned mark = cold_mark(p, &ours);
    if (unlikely(load_relaxed(&hooks_picked.end) != NULL) && mark != MARK_FREE)
        hooks_call_end(p);
    if (mark != MARK_FREE && span_of(p)->state == SPAN_LARGE && size > BLOCK_MAX &&
        units_of(size) != span_of(p)->length) {
        void *block = NULL;
        size_t before = load_relaxed(&hooks_any) ? cold_usable(p) : 0;
        if (likely(cold_begin(caller))) {
            block = realloc_large(p, span_of(p), size, caller);
            growth_note(caller);
            cold_end();
        }
        if (likely(block != NULL)) {
            if (unlikely(load_relaxed(&hooks_any))) {
                filling_grown(block, before);
                hooks_call_resized(p, block, size);
            }
            if (unlikely(size >= load_relaxed(&hooks_large.bytes)) && block != p)
                hooks_call_large(block, size, caller);
            if (unlikely(load_relaxed(&hooks_picked.begin) != NULL))
                hooks_call_begin(block, size, caller);
            return block;
        }
        /* no room in the window, or inside already: like any other block */
    }
    if ((guarding_owns(p) || debugging_owns(p)) && shifted_find(p) == NULL)
        return realloc_guarded(p, size, caller);
    size_t usable = cold_usable_for(p, "realloc");
    bool stays = sizes_stay(usable, size);
    if (unlikely(harden_on) && mark != MARK_FREE)
        stays = hardening_resize(p, usable, size);
    if (stays) {
        if (mark != MARK_FREE)
            renew(p, mark, size, caller);
        if (unlikely(load_relaxed(&hooks_any))) {
            filling_grown(p, usable);
            hooks_call_resized(p, p, size);
        }
        if (unlikely(load_relaxed(&hooks_picked.begin) != NULL) && mark != MARK_FREE)
            hooks_call_begin(p, size, caller);
        return p;
    }
    struct origin origin = {caller, TRACK_MOVED, false};
    const struct record *record = mark == MARK_WATCHED ? central_record(span_of(p), p) : NULL;
    if (record != NULL)
        origin.born = track_born(record);
    void *block = cold_take(size, COLD_ANY, &origin, &zero);
    if (block == NULL)
        return size <= usable ? p : NULL;
    large_copy_sparse(block, p, size < usable ? size : usable);
    if (mark == MARK_WATCHED && unlikely(load_relaxed(&hooks_any))) {
        hooks_call_delete(p);
        filling_end(p);
    }
    if (mark == MARK_WATCHED && cold_begin(caller)) {
        cold_look_at_peak();
        cold_free_watched(p, cold_heap(false), caller, true);
        cold_end();
    } else {
        cold_free(p, caller);
    }
    return block;
}

static void *realloc_large(void *p, struct span *span, size_t size, const struct caller *caller)
{
    size_t before = large_size(span);
    struct heap *heap = cold_heap(false);
    cold_look_at_peak(); /* while held bytes are those of the old block */
    if (size > before && !arena_grants(size - before))
        return NULL;
    if (large_resize(span, size)) {
        resized(heap, p, span, before, size, caller);
        return p;
    }
    bool zero;
    struct large_record *place = span->kinds & KIND_RECORDED ? meta_at(span->record) : NULL;
    struct origin origin = {caller, place == NULL ? TRACK_MOVED : track_born(&place->record),
                            false};
    void *block = large_take(pages_node(cold_pool(heap)), size, GRANULE, &zero);
    if (block == NULL)
        return NULL;
    size_t kept = before < size ? before : size;
    /* Onto memory that was in use before, copying costs less than the faults after moving, unless
     * little of the block was ever written to. */
    enum os_moved moved = OS_STAYED;
    if (kept >= MOVE_MIN && (zero || large_is_sparse(p, kept)))
        moved = large_move(span, span_of(block));
    if (moved == OS_LOST) {
        large_abandon(span_of(block));
        return NULL;
    }
    if (moved == OS_STAYED) {
        cold_large_begin(heap, block, size, &origin);
        large_copy_sparse(block, p, kept);
        cold_look_at_peak();
        if (unlikely(load_relaxed(&hooks_any)))
            filling_end(p);
        cold_free_watched(p, heap, caller, true);
    } else { /* the same memory: the two never exist at once */
        cold_free_watched(p, heap, caller, true);
        cold_large_begin(heap, block, size, &origin);
    }
    if (heap_self != NULL && heap_self->default_owner != NULL)
        owner_add_large(heap_self->default_owner, span_of(block));
    return block;
}

void *cold_realloc(void *p, size_t size, const struct caller *caller)
{
    stack_t stack;
    bool left = signal_stack_leave(p, &stack);
    void *block = realloc_any(p, size, caller);
    if (unlikely(left) && (block == p || block == NULL))
        signal_stack_back(&stack);
    return block;
}
