/* SPDX-License-Identifier: MIT */
/*
 * Frees on the slow path, and what a pointer is: a full bin gives blocks to the centre, a watched
 * block ends its record, a large one goes back to the pages, and all other pointers are
 * another allocator's or an error.
 */
#include "lib/api/cold_inside.h"
#include "lib/api/debugging.h"
#include "lib/api/elsewhere.h"
#include "lib/api/emergency.h"
#include "lib/api/filling.h"
#include "lib/api/foreign.h"
#include "lib/api/guarding.h"
#include "lib/api/hardening.h"
#include "lib/api/hooks.h"
#include "lib/api/hot.h"
#include "lib/api/young.h"
#include "lib/guard/guard.h"
#include "lib/heap/observer.h"
#include "lib/process/process.h"

unsigned cold_mark(const void *p, bool *ours)
{
    *ours = window_has(p);
    if (!*ours || (uintptr_t)p % GRANULE != 0)
        return MARK_FREE;
    return mark_of(p);
}

void cold_free_watched(void *p, struct heap *heap, const struct caller *caller, bool moved)
{
    if (unlikely(harden_on) && hardening_free(p, heap))
        return;
    struct span *span = span_of(p);
    bool large = span->state == SPAN_LARGE;
    unsigned class = mark_class(span->mark);
    size_t size = large ? large_size(span) : class_size(class);
    if (__atomic_exchange_n(live_at(p), 0, __ATOMIC_ACQ_REL) == 0)
        fatal_freed_twice(p, size);
    if (large) {
        if (span->kinds & KIND_RECORDED)
            cold_large_forget(span, caller, size, moved);
        cold_large_count(heap, (struct heap_sums){.frees = 1, .free_bytes = size});
        owner_remove_large(span);
        large_give(span);
        return;
    }
    struct record *place = central_record(span, p);
    if (span->kinds & KIND_OWNED) {
        if (place != NULL)
            track_end(place, caller, size, size - place->slack, moved);
        cold_owned_give(p, span, heap);
        return;
    }
    track_end(place, caller, size, size - place->slack, moved);
    places_forget(p);
    if (unlikely(harden_on))
        tail_end(p, size);
    if (heap != NULL && (heap->watched ? heap_push_watched(heap, mark_make(class, heap->colour), p)
                                       : spare_keep(heap, class, p)))
        return;
    young_sum((struct heap_sums){.frees = 1, .free_bytes = size});
    counts_direct(class, 0, 1);
    central_give(&p, 1);
}

static void free_inside(void *p, unsigned mark, const struct caller *caller)
{
    struct heap *heap = cold_heap(mark == MARK_WATCHED);
    cold_look_at_peak();
    if (mark == MARK_LARGE || mark == MARK_WATCHED) {
        cold_free_watched(p, heap, caller, false);
        return;
    }
    if (unlikely(heap == NULL && heap_self != NULL) && heap_popped_lately(heap_self, mark, p))
        return; /* a handler on top of the hot path, which may be about to pop this block: lost */
    if (heap != NULL && hot_push(heap, p)) {
        counts_bin(heap, mark);
        return;
    }
    if (heap != NULL && heap_spill(heap, mark) && hot_push(heap, p)) {
        counts_all(heap);
        return;
    }
    if (__atomic_exchange_n(live_at(p), 0, __ATOMIC_ACQ_REL) == 0)
        fatal_freed_twice(p, class_size(mark_class(mark)));
    young_sum((struct heap_sums){.frees = 1, .free_bytes = class_size(mark_class(mark))});
    counts_direct(mark_class(mark), 0, 1);
    central_give(&p, 1);
}

/* p stands for a block that it points into. */
static bool free_shifted(void *p, const struct caller *caller)
{
    if (likely(shifted_find(p) == NULL))
        return false;
    if (!cold_begin(caller))
        return true; /* in a signal handler that interrupted the allocator: the block is lost */
    void *block = shifted_remove(p);
    cold_end();
    if (block == NULL)
        return false; /* another thread was first */
    cold_free(block, caller);
    return true;
}

void cold_free(void *p, const struct caller *caller)
{
    bool ours;
    if (p == NULL)
        return;
    signal_stack_freed(p);
    if (unlikely(load_relaxed(&hooks_picked.end) != NULL))
        hooks_call_end(p);
    if (unlikely(load_relaxed(&hooks_any))) {
        hooks_call_delete(p);
        filling_end(p);
    }
    if (unlikely(debugging_owns(p)) && shifted_find(p) == NULL) {
        debugging_free(p, caller, false);
        return;
    }
    unsigned mark = cold_mark(p, &ours);
    if (unlikely(mark == MARK_FREE)) {
        if (guarding_owns(p) && shifted_find(p) == NULL) {
            guarding_free(p, caller, false);
            return;
        }
        if (unlikely(harden_on) && hardening_free_empty(p))
            return;
        if (emergency_owns(p) || elsewhere_free(p) || free_shifted(p, caller) ||
            (!ours && foreign_free(p)))
            return;
        if (guard_debug) {
            debugging_refuse(p, "free", caller);
            return; /* where errors are ignored */
        }
        fatal_bad_pointer(p, "free");
    }
    if (unlikely(!cold_begin(caller)))
        return; /* in a signal handler that came upon us inside: lost, but nothing breaks */
    free_inside(p, mark, caller);
    cold_end();
}

size_t cold_usable_for(const void *p, const char *call)
{
    bool ours;
    if (unlikely(debugging_owns(p)) && shifted_find(p) == NULL)
        return debugging_size(p, call, NULL);
    unsigned mark = cold_mark(p, &ours);
    size_t asked = 0;
    if (unlikely((harden_on && mark != MARK_FREE && tail_asked(p, call, &asked)) || empty_lives(p)))
        return asked;
    if (mark == MARK_FREE) {
        if (guarding_owns(p) && shifted_find(p) == NULL)
            return guarding_size(p, call, NULL);
        size_t size = emergency_owns(p) ? emergency_size(p) : elsewhere_size(p);
        void *block = shifted_find(p);
        if (block != NULL)
            return cold_usable_for(block, call) - (size_t)((const char *)p - (char *)block);
        if (size != 0 || (!ours && (size = foreign_usable(p)) != 0))
            return size;
        if (guard_debug) {
            debugging_refuse(p, call, NULL);
            return 0;
        }
        fatal_bad_pointer(p, call);
    }
    if (mark != MARK_LARGE && mark != MARK_WATCHED)
        return class_size(mark_class(mark));
    struct span *span = span_of(p);
    return span->state == SPAN_LARGE ? large_size(span) : class_size(mark_class(span->mark));
}

size_t cold_usable(const void *p)
{
    return cold_usable_for(p, "malloc_usable_size");
}

bool cold_is_block(const void *p)
{
    bool ours;
    return p != NULL &&
           (cold_mark(p, &ours) != MARK_FREE || debugging_lives(p) || guarding_lives(p) ||
            empty_lives(p) || emergency_owns(p) || elsewhere_size(p) != 0 ||
            shifted_find(p) != NULL || (!ours && foreign_usable(p) != 0));
}

bool cold_owns(const void *p)
{
    return window_has(p) || guarding_owns(p) || emergency_owns(p) || elsewhere_size(p) != 0;
}

void cold_verify(void)
{
    debugging_exit();
}
