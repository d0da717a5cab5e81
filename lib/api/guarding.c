/* SPDX-License-Identifier: MIT */
/*
 * See lib/api/guarding.h. A guarded block counts in the statistics and in the profile as the block
 * that the program would have got without a guard.
 */
#include "lib/api/guarding.h"

#include <string.h>

#include "base/config.h"
#include "base/os.h"
#include "lib/api/cold_inside.h"
#include "lib/api/debugging.h"
#include "lib/api/hooks.h"
#include "lib/api/mismatch.h"
#include "lib/api/young.h"
#include "lib/guard/guard.h"
#include "lib/heap/observer.h"
#include "lib/watch/watch.h"

enum {
    WALK_OWNER = 1u << 31, /* with a thread's number: no walk of the CPU profile has it */
    BUSY_MS = 1000,        /* how long another thread may have a cell */
    GROWTH_STEP = 1 << 20, /* bytes of cells that are noted at once (lib/heap/growth.h) */
};

static bool whole; /* blocks have the size of their class: the program knows that size */

static void note_growth(const struct caller *caller);
static size_t whole_size(size_t size, unsigned *class);
static void *begin(struct cell *cell, struct owner *owner, const struct origin *origin,
                   bool recorded, unsigned rate);
static void count(const struct cell *cell, bool begins);
static struct cell *cell_of(const void *p, const char *call, const struct caller *caller);
static void end(struct cell *cell, const struct caller *caller, bool fits, bool moved);

void guarding_ask(uint64_t spans_every, uint64_t large_every)
{
    guard_spans_every = spans_every;
    guard_large_every = large_every;
}

void guarding_ask_counted(uint64_t every, size_t min, size_t max, uint64_t seed)
{
    seed = seed != 0 ? seed : os_now_ms() ^ (uint64_t)os_pid() << 7;
    guard_counted = (struct guard_counted){every, every == 0 ? 0 : seed % every, min, max};
    hooks_fill |= every != 0;
    hooks_any |= every != 0;
}

void *guarding_take(struct owner *owner, size_t size, size_t align, const struct origin *origin)
{
    unsigned class;
    struct cell *cell = cells_take(size, align);
    if (cell == NULL)
        return NULL;
    note_growth(origin->caller);
    return begin(cell, owner, origin, young_ring(whole_size(cell->size, &class)), sampler_number());
}

static void note_growth(const struct caller *caller)
{
    static uint64_t noted;
    uint64_t before = load_relaxed(&noted), now = cells_made();
    if (now - before >= GROWTH_STEP && now > before &&
        __atomic_compare_exchange_n(&noted, &before, now, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED))
        growth_beside(caller, now - before);
}

void *guarding_take_spaced(struct owner *owner, size_t size, size_t align,
                           const struct origin *origin)
{
    bool large = sizes_room(size, align) > BLOCK_MAX;
    if (align > os_page_size() || !guard_is_due(size, large, central_spans_made()))
        return NULL;
    unsigned class;
    return guarding_take(owner, load_relaxed(&whole) ? whole_size(size, &class) : size, align,
                         origin);
}

void *guarding_take_sample(struct owner *owner, unsigned rate, unsigned class, size_t size,
                           const struct origin *origin)
{
    /* The alignment that an ordinary block of the class has. */
    size_t align = class_size(class) & -class_size(class);
    size = load_relaxed(&whole) ? class_size(class) : size;
    struct cell *cell = guard_picks() ? cells_take(size, align < UNIT ? align : UNIT) : NULL;
    return cell == NULL ? NULL : begin(cell, owner, origin, true, rate);
}

static void *begin(struct cell *cell, struct owner *owner, const struct origin *origin,
                   bool recorded, unsigned rate)
{
    unsigned class;
    cell->born = guarding_event(origin->caller);
    cell->family = origin->caller->family;
    size_t usable = whole_size(cell->size, &class);
    if (recorded) {
        cell->record.site = 0;
        track_begin(&cell->record, origin->caller, class, usable, cell->size, origin->born, rate);
        cell->recorded = true;
    }
    cell->owner = owner;
    if (owner != NULL)
        owner_add_elsewhere(owner, class, usable);
    count(cell, true);
    cells_begin(cell);
    return (void *)cell->start;
}

bool guarding_exact(void)
{
    return guard_calls || harden_on;
}

void guarding_make_whole(void)
{
    if (!guarding_exact() && (guard_sampled || guard_spaced) && !load_relaxed(&whole))
        store_relaxed(&whole, true);
}

bool guarding_owns(const void *p)
{
    return cells_own(p);
}

/* The stack of the caller, by number. */
struct cell_event guarding_event(const struct caller *caller)
{
    static const struct own_stack nothing;
    struct cell_event event = {os_now_ms(), STACK_NONE, lock_self()};
    struct walk *walk = walks_take(WALK_OWNER | young.number, &nothing);
    if (walk == NULL)
        return event;
    unwind(walk, caller, config.heap_depth);
    event.stack = stacks_add(walk);
    walks_give(walk);
    return event;
}

/* The size of an ordinary block of `size` bytes, and its class; CLASS_COUNT: it is large. */
static size_t whole_size(size_t size, unsigned *class)
{
    size = size == 0 ? 1 : size;
    *class = size <= BLOCK_MAX ? class_of(size) : CLASS_COUNT;
    return size <= BLOCK_MAX ? class_size(*class) : units_of(size) << UNIT_SHIFT;
}

static void count(const struct cell *cell, bool begins)
{
    unsigned class;
    size_t usable = whole_size(cell->size, &class);
    struct heap_sums sums = {begins, !begins, begins ? usable : 0, begins ? 0 : usable};
    if (class == CLASS_COUNT) {
        cold_large_count(NULL, sums);
    } else {
        young_sum(sums);
        counts_direct(class, begins, !begins);
    }
    account_elsewhere(class, usable, begins);
}

/* ---- ends --------------------------------------------------------------------------------- */

void guarding_free(void *p, const struct caller *caller, bool moved)
{
    struct cell *cell = cell_of(p, "free", caller);
    if (cell == NULL || !cold_begin(caller))
        return; /* reported; or lost, in a signal handler that came upon us inside */
    if (!cells_claim(cell)) {
        cold_end();
        guard_complain(GUARD_DOUBLE_FREE, (uintptr_t)p, cell, "free", caller, 0);
        return;
    }
    end(cell, caller, !guard_calls || mismatch_fits(cell->family, cell->born.stack, caller), moved);
}

/* A block that was claimed. `fits`: so does the function that ends it. Begins inside, returns
 * outside. */
static void end(struct cell *cell, const struct caller *caller, bool fits, bool moved)
{
    unsigned class;
    void *p = (void *)cell->start;
    const uint8_t *damage = cells_damage(cell);
    if (damage != NULL || !fits) {
        cold_end();
        guard_complain(damage != NULL ? GUARD_DAMAGE : GUARD_MIXED,
                       damage != NULL ? (uintptr_t)damage : (uintptr_t)p, cell, "free", caller, 0);
        if (!cold_begin(caller))
            return;
    }
    cold_heap(true);
    cold_look_at_peak();
    size_t usable = whole_size(cell->size, &class);
    if (cell->recorded)
        track_end(&cell->record, caller, usable, cell->size, moved);
    count(cell, false);
    if (cell->owner != NULL)
        owner_remove_elsewhere(cell->owner, class, usable);
    cell->died = guarding_event(caller);
    struct cell_event died = cell->died;
    size_t size = cell->size;
    cells_give(cell);
    debugging_freed_elsewhere(p, size, &died, caller);
    cold_end();
}

/* ---- blocks with an owner ----------------------------------------------------------------- */

struct owner_ends {
    struct owner *owner;
    const struct caller *caller;
};

static void end_owned(void *context, struct cell *cell)
{
    const struct owner_ends *ends = context;
    if (load_relaxed(&cell->owner) != ends->owner || !cold_begin(ends->caller))
        return;
    bool claimed = cells_claim(cell);
    if (claimed && cell->owner == ends->owner) {
        end(cell, ends->caller, true, false);
        return;
    }
    if (claimed) /* another thread has freed it meanwhile; it is a new block */
        store_release(&cell->state, CELL_LIVE);
    cold_end();
}

void guarding_end_owned(struct owner *owner, const struct caller *caller)
{
    struct owner_ends ends = {owner, caller};
    if (load_relaxed(&owner->elsewhere.live) != 0)
        cells_each(end_owned, &ends);
}

static const struct cell *cell_live(const void *p)
{
    const struct cell *cell = cells_near((uintptr_t)p);
    bool lives =
        cell != NULL && load_acquire(&cell->state) == CELL_LIVE && cell->start == (uintptr_t)p;
    return lives ? cell : NULL;
}

bool guarding_lives(const void *p)
{
    return cell_live(p) != NULL;
}

struct owner *guarding_owner(const void *p)
{
    const struct cell *cell = cell_live(p);
    return cell == NULL ? NULL : load_relaxed(&cell->owner);
}

bool guarding_each_owned(const struct owner *owner,
                         bool (*each)(void *context, void *block, size_t size), void *context)
{
    uint32_t all = cells_count();
    for (uint32_t i = 1; i < all; i++) {
        const struct cell *cell = cells_live(i);
        const struct owner *of = cell == NULL ? NULL : load_relaxed(&cell->owner);
        if (of != NULL && of->deleted)
            of = NULL;
        if (cell != NULL && of == owner && !each(context, (void *)cell->start, cell->size))
            return false;
    }
    return true;
}

void guarding_each_range(void (*each)(void *context, uintptr_t start, size_t bytes, bool live),
                         void *context)
{
    uint32_t all = cells_count();
    size_t page = os_page_size();
    for (uint32_t i = 1; i < all; i++) {
        const struct cell *cell = cells_at(i);
        uint8_t state = load_acquire(&cell->state);
        if (state > CELL_BUSY && cell->pages > 0)
            each(context, cell->start & ~(uintptr_t)(page - 1), cell->pages * page,
                 state == CELL_LIVE);
    }
}

/* ---- questions ---------------------------------------------------------------------------- */

size_t guarding_size(const void *p, const char *call, const struct caller *caller)
{
    struct cell *cell = cell_of(p, call, caller);
    return cell == NULL ? 0 : cell->size;
}

uint64_t guarding_born(const void *p)
{
    const struct cell *cell = cells_near((uintptr_t)p);
    return cell->recorded ? track_born(&cell->record) : TRACK_MOVED;
}

const void *guarding_start(const void *p)
{
    uint32_t number = guarding_owns(p) ? cells_inside((uintptr_t)p) : 0;
    return number == 0 ? NULL : (const void *)cells_at(number)->start;
}

bool guarding_is_inside(const void *p)
{
    const struct cell *cell = cells_near((uintptr_t)p);
    return cell != NULL && cell->start != (uintptr_t)p;
}

void guarding_compare(const void *p, size_t size, size_t align, const struct caller *caller)
{
    struct cell *cell = cells_near((uintptr_t)p);
    if (cell == NULL || cell->start != (uintptr_t)p || cell->state != CELL_LIVE)
        return;         /* free says what it is */
    if (!guard_calls) { /* a sample: no reason to be strict */
        mismatch_compare(p, size, align, cell->size, caller);
        return;
    }
    if ((size != SIZE_MAX && size != cell->size) || (align != 0 && (uintptr_t)p % align != 0))
        guard_complain(GUARD_SIZE, (uintptr_t)p, cell, "delete", caller, size);
}

void guarding_verify(const void *p, unsigned family, const struct caller *caller)
{
    struct cell *cell = cell_of(p, "free", caller);
    const uint8_t *damage = cell == NULL ? NULL : cells_damage(cell);
    struct caller other = *caller;
    other.family = (uint8_t)family;
    if (damage != NULL)
        guard_complain(GUARD_DAMAGE, (uintptr_t)damage, cell, "free", caller, 0);
    if (cell != NULL && !mismatch_fits(cell->family, cell->born.stack, &other))
        guard_complain(GUARD_MIXED, (uintptr_t)p, cell, "free", &other, 0);
}

uint64_t guarding_errors(void)
{
    return report_counts().errors;
}

/* The live block that begins at p; anything else is reported. */
static struct cell *cell_of(const void *p, const char *call, const struct caller *caller)
{
    uintptr_t address = (uintptr_t)p;
    struct cell *cell = cells_near(address);
    uint64_t since_ms = os_now_ms();
    while (cell != NULL && load_acquire(&cell->state) == CELL_BUSY &&
           os_now_ms() - since_ms < BUSY_MS)
        ; /* another thread frees it, or looks at it: it will know in a moment */
    uint8_t state = cell == NULL ? CELL_NONE : load_acquire(&cell->state);
    if (state == CELL_LIVE && cell->start == address)
        return cell;
    bool inside = state != CELL_NONE && cell->born.thread != 0 && address > cell->start &&
                  address < cell->start + cell->size;
    bool again = state != CELL_NONE && cell->born.thread != 0 && address == cell->start;
    bool frees = strcmp(call, "free") == 0;
    guard_complain(again    ? frees ? GUARD_DOUBLE_FREE : GUARD_FREED
                   : inside ? GUARD_INTERIOR
                            : GUARD_NEVER,
                   address, cell, call, caller, 0);
    return NULL;
}
