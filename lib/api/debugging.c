/* SPDX-License-Identifier: MIT */
/*
 * See lib/api/debugging.h. A block's live byte is that of the allocator's block, set after the
 * words and cleared before they go: what lives has its words. A freed block stays the allocator's
 * block until it leaves the queue, and counts as freed.
 */
#include "lib/api/debugging.h"

#include <string.h>

#include "base/config.h"
#include "base/os.h"
#include "lib/api/cold_inside.h"
#include "lib/api/guarding.h"
#include "lib/api/mismatch.h"
#include "lib/api/young.h"
#include "lib/guard/guard.h"
#include "lib/heap/observer.h"
#include "lib/leak/leak.h"
#include "lib/watch/watch.h"

enum { FILL_MAX = 64 << 20 }; /* of a guarded block: more would take the memory of sparse ones */

/* Where p is. `span` is NULL where no block can be. */
struct found_place {
    struct span *span;
    struct debug_place place;
    bool live;
};

static void trace(const struct origin *origin, size_t size, const char *p,
                  const struct cell_event *born);
static char *take_class(size_t size, size_t align, unsigned class, const struct origin *origin);
static char *take_large(size_t size, size_t align, const struct origin *origin);
static struct found_place place_of(const void *p);
static bool block_ok(const void *p, const char *call, const struct caller *caller,
                     struct found_place *found, struct debug_words *words);
static void complain_dead(const void *p, const char *call, const struct caller *caller,
                          const struct found_place *found);
static void record_end(const struct found_place *found, const struct caller *caller, bool watched,
                       bool moved);
static void queue_add(const struct debug_entry *entry, const struct caller *caller, bool all);

/* ---- new blocks --------------------------------------------------------------------------- */

void *debugging_take(size_t size, size_t align, const struct origin *origin, bool *zero)
{
    size_t page = os_page_size();
    bool fenced = guard_all || (guard_fences && (size == 0 || size >= page || align >= page));
    char *p = fenced ? debugging_take_fenced(NULL, size, align, origin, zero) : NULL;
    if (p != NULL)
        return p;
    *zero = origin->clear;
    size_t room = sizes_room(debug_room(size, align), align);
    if (size > PTRDIFF_MAX - align - UNIT)
        return NULL;
    p = room > BLOCK_MAX ? take_large(size, align, origin)
                         : take_class(size, align, class_of(room), origin);
    if (p != NULL)
        memset(p, origin->clear ? 0 : DEBUG_NEW, size);
    return p;
}

void *debugging_take_fenced(struct owner *owner, size_t size, size_t align,
                            const struct origin *origin, bool *zero)
{
    char *p = guarding_take(owner, size, align, origin);
    if (p == NULL)
        return NULL;
    *zero = origin->clear;
    if (!origin->clear)
        memset(p, DEBUG_NEW, size < FILL_MAX ? size : FILL_MAX);
    trace(origin, size, p, &cells_near((uintptr_t)p)->born);
    return p;
}

static void trace(const struct origin *origin, size_t size, const char *p,
                  const struct cell_event *born)
{
    debug_trace(origin->born == 0 ? "malloc" : "realloc", size, p, born);
}

static char *take_class(size_t size, size_t align, unsigned class, const struct origin *origin)
{
    struct debug_place place = {.room = class_size(class)};
    bool recorded = young_ring(place.room);
    if (recorded)
        place.start = central_take_one(cold_pool(NULL), CENTRAL_WATCHED + class);
    if (recorded && place.start == NULL) {
        track_lost();
        recorded = false;
    }
    if (place.start == NULL)
        place.start = central_take_one(cold_pool(NULL), mark_make(class, young.colour));
    if (unlikely(place.start == NULL) && (place.start = central_take_left(class)) == NULL)
        return NULL;
    struct cell_event born = guarding_event(origin->caller);
    char *p = debug_begin(place, size, align, origin->caller->family, &born);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    young_sum((struct heap_sums){.allocs = 1, .alloc_bytes = place.room});
    counts_direct(class, 1, 0);
    if (recorded)
        cold_record(place.start, class, size, origin, cold_rate(NULL));
    else if (unlikely(span_of(place.start)->kinds & KIND_RECORDED))
        cold_unrecorded(place.start, class, size); /* what samples have left */
    else
        store_relaxed(live_at(place.start), live_sign(place.start));
    trace(origin, size, p, &born);
    return p;
}

static char *take_large(size_t size, size_t align, const struct origin *origin)
{
    bool zero;
    char *start = large_take(pages_node(cold_pool(NULL)), debug_room(size, align), align, &zero);
    if (start == NULL)
        return NULL;
    struct cell_event born = guarding_event(origin->caller);
    char *p = debug_begin((struct debug_place){start, large_size(span_of(start))}, size, align,
                          origin->caller->family, &born);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    cold_large_begin(NULL, start, size, origin);
    trace(origin, size, p, &born);
    return p;
}

/* ---- where a pointer is ------------------------------------------------------------------- */

static bool covers(const struct span *span, const void *p)
{
    return (span->state == SPAN_BLOCKS || span->state == SPAN_LARGE) &&
           unit_of(p) - span->first < span->units;
}

static struct found_place place_of(const void *p)
{
    struct found_place found = {0};
    struct span *span = window_has(p) ? span_of(p) : NULL;
    if (span != NULL && !covers(span, p))
        span = span_find(p); /* far behind the start of a large block, or in no block */
    if (span == NULL)
        return found;
    if (span->state == SPAN_LARGE) {
        found.place = (struct debug_place){span_start(span), large_size(span)};
    } else {
        unsigned class = mark_class(span->mark), index = span_index(span, p, class);
        if (index >= span->blocks)
            return found;
        found.place = (struct debug_place){span_block(span, index, class), class_size(class)};
    }
    found.span = span;
    found.live = mark_of(found.place.start) != MARK_FREE;
    return found;
}

bool debugging_owns(const void *p)
{
    if (!guard_debug || !window_has(p))
        return false;
    struct found_place found = place_of(p);
    return found.span == NULL || !(found.span->kinds & KIND_OWNED);
}

bool debugging_lives(const void *p)
{
    struct debug_words words;
    const char *damage;
    struct found_place found = place_of(p);
    return guard_debug && found.live &&
           debug_check(found.place, p, &words, &damage) != DEBUG_NO_BLOCK;
}

void *debugging_inner(void *block, size_t *size)
{
    struct debug_words words;
    const char *damage;
    if (!debugging_owns(block))
        return block;
    struct found_place found = place_of(block);
    char *p = debug_block_of(found.place);
    if (debug_check(found.place, p, &words, &damage) != DEBUG_FINE)
        return block;
    *size = words.size;
    return p;
}

/* The live block at p; anything else is reported. */
static bool block_ok(const void *p, const char *call, const struct caller *caller,
                     struct found_place *found, struct debug_words *words)
{
    const char *damage = NULL;
    *found = place_of(p);
    if (!found->live) {
        complain_dead(p, call, caller, found);
        return false;
    }
    enum debug_verdict verdict = debug_check(found->place, p, words, &damage);
    if (verdict == DEBUG_FINE)
        return true;
    if (verdict == DEBUG_STOMPED) {
        struct cell cell = debug_cell(p, words);
        guard_complain(GUARD_DAMAGE, (uintptr_t)damage, &cell, call, caller, 0);
        return false;
    }
    const char *block = debug_block_of(found->place);
    bool inside = debug_check(found->place, block, words, &damage) == DEBUG_FINE &&
                  (const char *)p > block && (const char *)p < block + words->size;
    struct cell cell = debug_cell(block, words);
    guard_complain(inside ? GUARD_INTERIOR : GUARD_NEVER, (uintptr_t)p, inside ? &cell : NULL, call,
                   caller, 0);
    return false;
}

/* p lies where no block lives. */
static void complain_dead(const void *p, const char *call, const struct caller *caller,
                          const struct found_place *found)
{
    struct debug_entry entry;
    bool frees = strcmp(call, "free") == 0;
    if (debug_queue_find(p, &entry)) {
        struct cell cell = {.start = (uintptr_t)entry.p,
                            .size = entry.size,
                            .state = CELL_FREED,
                            .family = (uint8_t)entry.family,
                            .born = entry.born,
                            .died = entry.died};
        guard_complain(entry.p != p ? GUARD_INTERIOR
                       : frees      ? GUARD_DOUBLE_FREE
                                    : GUARD_FREED,
                       (uintptr_t)p, &cell, call, caller, 0);
        return;
    }
    bool never = load_relaxed(&window.kinds[unit_of(p)]) == MARK_FREE ||
                 (uintptr_t)p % GRANULE != 0 ||
                 (found->span != NULL && p != debug_block_of(found->place));
    guard_complain(never   ? GUARD_NEVER
                   : frees ? GUARD_DOUBLE_FREE
                           : GUARD_FREED,
                   (uintptr_t)p, NULL, call, caller, 0);
}

void debugging_refuse(const void *p, const char *call, const struct caller *caller)
{
    guard_complain(GUARD_NEVER, (uintptr_t)p, NULL, call, caller, 0);
}

size_t debugging_size(const void *p, const char *call, const struct caller *caller)
{
    struct found_place found;
    struct debug_words words;
    return block_ok(p, call, caller, &found, &words) ? words.size : 0;
}

uint64_t debugging_born(const void *p)
{
    struct found_place found = place_of(p);
    const struct record *record = NULL;
    if (found.span == NULL || mark_of(found.place.start) != MARK_WATCHED)
        return TRACK_MOVED;
    if (found.span->state == SPAN_LARGE)
        record = &((const struct large_record *)meta_at(found.span->record))->record;
    else
        record = central_record(found.span, found.place.start);
    return record == NULL ? TRACK_MOVED : track_born(record);
}

bool debugging_is_inside(const void *p)
{
    struct debug_words words;
    const char *damage;
    struct found_place found = place_of(p);
    return found.live && debug_check(found.place, p, &words, &damage) != DEBUG_FINE;
}

void debugging_compare(const void *p, size_t size, size_t align, const struct caller *caller)
{
    struct debug_words words;
    const char *damage;
    struct found_place found = place_of(p);
    if (!found.live || debug_check(found.place, p, &words, &damage) != DEBUG_FINE)
        return; /* free says what it is */
    struct cell cell = debug_cell(p, &words);
    if ((size != SIZE_MAX && size != words.size) || (align != 0 && (uintptr_t)p % align != 0))
        guard_complain(GUARD_SIZE, (uintptr_t)p, &cell, "delete", caller, size);
}

/* ---- ends --------------------------------------------------------------------------------- */

void debugging_free(void *p, const struct caller *caller, bool moved)
{
    struct found_place found;
    struct debug_words words;
    if (!block_ok(p, "free", caller, &found, &words))
        return; /* reported; the block is lost */
    struct cell cell = debug_cell(p, &words);
    if (!mismatch_fits(cell.family, cell.born.stack, caller))
        guard_complain(GUARD_MIXED, (uintptr_t)p, &cell, "free", caller, 0);
    if (!cold_begin(caller))
        return; /* lost, in a signal handler that came upon us inside */
    cold_heap(true);
    cold_look_at_peak();
    uint8_t sign = __atomic_exchange_n(live_at(found.place.start), 0, __ATOMIC_ACQ_REL);
    if (sign == 0) {
        cold_end();
        complain_dead(p, "free", caller, &found);
        return;
    }
    record_end(&found, caller, sign == live_sign_watched(found.place.start), moved);
    struct debug_entry entry = {.place = found.place,
                                .p = p,
                                .size = words.size,
                                .family = words.family,
                                .born = cell.born,
                                .died = guarding_event(caller)};
    memset(found.place.start, DEBUG_FREED, found.place.room);
    debug_trace("free", entry.size, p, &entry.died);
    if (config.debug_reclaim)
        queue_add(&entry, caller, false);
    cold_end();
}

void debugging_freed_elsewhere(void *p, size_t size, const struct cell_event *died,
                               const struct caller *caller)
{
    if (!guard_debug)
        return;
    debug_trace("free", size, p, died);
    if (size > 0)
        queue_add(&(struct debug_entry){.size = size}, caller, false);
}

/* The block is no more the program's. */
static void record_end(const struct found_place *found, const struct caller *caller, bool watched,
                       bool moved)
{
    struct span *span = found->span;
    size_t room = found->place.room;
    if (span->state == SPAN_LARGE) {
        if (span->kinds & KIND_RECORDED)
            cold_large_forget(span, caller, room, moved);
        cold_large_count(NULL, (struct heap_sums){.frees = 1, .free_bytes = room});
        account_detained(CLASS_COUNT, room, true);
        return;
    }
    unsigned class = mark_class(span->mark);
    struct record *record = watched ? central_record(span, found->place.start) : NULL;
    if (record != NULL)
        track_end(record, caller, room, room - record->slack, moved);
    young_sum((struct heap_sums){.frees = 1, .free_bytes = room});
    counts_direct(class, 0, 1);
    account_detained(class, room, true);
}

/* A block that leaves the queue goes back to the allocator, unless it was written to. */
static void release(const struct debug_entry *entry, const struct caller *caller)
{
    char *start = entry->place.start;
    if (start == NULL)
        return;
    const char *written = debug_written(entry->place);
    if (written != NULL) {
        cold_end();
        guard_complain_written(entry, written, caller);
        if (!cold_begin(caller))
            return;
    }
    struct span *span = span_of(start);
    if (span->state == SPAN_LARGE) {
        account_detained(CLASS_COUNT, entry->place.room, false);
        large_give(span);
    } else {
        account_detained(mark_class(span->mark), entry->place.room, false);
        void *block = start;
        central_give(&block, 1);
    }
}

/* Between `cold_begin` and `cold_end`. */
static void queue_add(const struct debug_entry *entry, const struct caller *caller, bool all)
{
    struct debug_entry old;
    bool added = entry == NULL || debug_queue_push(entry);
    while (debug_queue_pop(&old, all))
        release(&old, caller);
    if (!added)
        release(entry, caller);
}

bool debugging_yield(const struct caller *caller)
{
    if (!guard_debug || debug_queue_sums().bytes == 0)
        return false;
    queue_add(NULL, caller, true);
    return true;
}

/* ---- on request --------------------------------------------------------------------------- */

void debugging_verify(const void *p, unsigned family, const struct caller *caller)
{
    struct found_place found;
    struct debug_words words;
    if (!guard_debug || p == NULL)
        return;
    if (guarding_owns(p)) {
        guarding_verify(p, family, caller);
    } else if (!debugging_owns(p)) {
        debugging_refuse(p, "free", caller);
    } else if (block_ok(p, "free", caller, &found, &words)) {
        struct cell cell = debug_cell(p, &words);
        struct caller other = *caller;
        other.family = (uint8_t)family;
        if (!mismatch_fits(cell.family, cell.born.stack, &other))
            guard_complain(GUARD_MIXED, (uintptr_t)p, &cell, "free", &other, 0);
    }
}

/* One live block. Another thread may be freeing it: what it is then is seen again. */
static void verify_one(void *context, const struct found *block)
{
    enum { TRIES = 20 }; /* a free takes microseconds; a block whose words stay odd is damaged */
    struct debug_words words;
    const char *damage = NULL;
    struct found_place found = place_of((const void *)block->start);
    if (found.span == NULL || found.span->kinds & KIND_OWNED)
        return;
    for (unsigned i = 0; i < TRIES; i++) {
        char *p = debug_block_of(found.place);
        if (mark_of(found.place.start) == MARK_FREE ||
            debug_check(found.place, p, &words, &damage) == DEBUG_FINE)
            return;
        static uint32_t never;
        os_wait(&never, 0, 1);
    }
    char *p = debug_block_of(found.place);
    struct cell cell = debug_cell(p, &words);
    guard_complain(GUARD_DAMAGE, (uintptr_t)damage, &cell, "exit", context, 0);
}

static const struct caller *verifier;

static void verify_freed(const struct debug_entry *entry)
{
    const char *written = entry->place.start == NULL ? NULL : debug_written(entry->place);
    if (written != NULL)
        guard_complain_written(entry, written, verifier);
}

void debugging_verify_all(const struct caller *caller)
{
    if (!guard_debug)
        return;
    blocks_each(verify_one, (void *)caller);
    guard_verify_cells(caller);
    verifier = caller;
    debug_queue_each(verify_freed);
}

void debugging_exit(void)
{
    if (!guard_debug)
        return;
    if (config.debug_at_exit)
        blocks_each(verify_one, NULL);
    if (cold_begin(NULL)) {
        queue_add(NULL, NULL, true);
        cold_end();
    }
}

/* ---- sums --------------------------------------------------------------------------------- */

struct sizes_visitor {
    void (*each)(void *context, size_t size);
    void *context;
};

static void each_block(void *context, const struct found *block)
{
    const struct sizes_visitor *visitor = context;
    struct debug_words words;
    const char *damage;
    struct found_place found = place_of((const void *)block->start);
    if (found.span == NULL || found.span->kinds & KIND_OWNED)
        return;
    debug_check(found.place, debug_block_of(found.place), &words, &damage);
    visitor->each(visitor->context, words.size);
}

static void each_cell(void *context, struct cell *cell)
{
    const struct sizes_visitor *visitor = context;
    visitor->each(visitor->context, cell->size);
}

void debugging_each(void (*each)(void *context, size_t size), void *context)
{
    struct sizes_visitor visitor = {each, context};
    blocks_each(each_block, &visitor);
    cells_each(each_cell, &visitor);
}

bool debugging_is_on(void)
{
    return guard_debug;
}

size_t debugging_queue_bytes(void)
{
    return guard_debug ? debug_queue_sums().bytes : 0;
}

void debugging_queue_limit(size_t bytes, const int32_t *flag)
{
    debug_queue_limit(bytes, flag);
}

void debugging_trace(const char *path)
{
    debug_trace_start(path);
}
