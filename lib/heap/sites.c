/* SPDX-License-Identifier: MIT */
/*
 * See lib/heap/sites.h. Sites lie in a table (lib/watch/table.h) and on two lists: those of a stack
 * and those of a thread. The two difficult parts are *renewing* a site, when its counts are from
 * an earlier era, and *folding* the sites of an ended thread into those of all ended threads.
 * Neither stops other threads: a site is renewed by its own thread, or under a lock if it has none;
 * a fold makes `folds` odd, and a reader that sees it change reads again.
 */
#include "lib/heap/sites.h"

#include <stddef.h>

#include "base/compiler.h"
#include "base/config.h"
#include "base/lock.h"
#include "base/os.h"
#include "lib/alloc/alloc.h"
#include "lib/heap/sampler.h"
#include "lib/heap/threads.h"
#include "lib/watch/watch.h"

enum {
    LARGE_STEPS_SHIFT = 5,      /* large sizes: ranges of 3 %, so that one weight fits */
    LARGE_MIN_LOG = UNIT_SHIFT, /* shorter than BLOCK_MAX if the alignment is large */
    LOOKS = 3,                  /* sites of a stack that are compared before the table is
                                     searched: most stacks have 1 to 3 */
    PATIENCE_MS = 100,          /* until a reader goes on, even if the folding thread was
                         interrupted */
};

unsigned sites_era;
uint32_t sites_peak_epoch = 1; /* no site has saved this epoch yet */

static struct lock renew_lock = {.rank = LOCK_SITES}; /* for sites that no single thread owns */
static uint32_t folds;                                /* odd while a fold is under way */
BULK uint32_t sites_slabs[TABLE_SLABS];
struct table sites_table = {.entry_bytes = sizeof(struct site),
                            .slab_shift = SITES_SLAB_SHIFT,
                            .count = 1,
                            .slabs = sites_slabs};

_Static_assert(TABLE_SLABS << SITES_SLAB_SHIFT == 1 << SITE_ID_BITS, "numbers of sites have room");

_Static_assert(CLASS_COUNT + ((64 - LARGE_MIN_LOG) << LARGE_STEPS_SHIFT) <= 1 << SITE_CLASS_BITS,
               "kinds of large blocks have room");

uint32_t site_kind_large(size_t usable)
{
    unsigned log = 63u - (unsigned)__builtin_clzll(usable | (size_t)1 << LARGE_MIN_LOG);
    unsigned step = (usable >> (log - LARGE_STEPS_SHIFT)) & ((1 << LARGE_STEPS_SHIFT) - 1);
    return CLASS_COUNT + ((log - LARGE_MIN_LOG) << LARGE_STEPS_SHIFT) + step;
}

static uint64_t key_of(uint32_t stack, uint32_t thread)
{
    return (uint64_t)thread << 32 | (stack + 1);
}

static uint32_t find(uint32_t stack, uint32_t thread, uint32_t kind, uint64_t max)
{
    bool fresh;
    uint32_t id = table_add(&sites_table, key_of(stack, thread), kind, max, &fresh);
    if (fresh) {
        uint32_t *first = stacks_sites(stack), next = load_relaxed(first);
        struct site *site = site_at(id);
        do
            store_relaxed(&site->entry.link, next);
        while (!__atomic_compare_exchange_n(first, &next, id, true, __ATOMIC_RELEASE,
                                            __ATOMIC_RELAXED));
        if (thread != THREAD_OTHER) {
            uint32_t *head = threads_sites(thread); /* this thread's */
            site->thread_link = *head;
            store_release(head, id);
        }
    }
    return id;
}

uint32_t sites_find(uint32_t stack, uint32_t thread, uint32_t kind)
{
    /* Most stacks have one site or a few: no need to search the table. */
    uint64_t key = key_of(stack, thread);
    uint32_t id = load_acquire(stacks_sites(stack));
    for (unsigned looks = 0; id != 0 && looks < LOOKS; looks++) {
        const struct site *site = site_at(id);
        if (likely(site->entry.a == key && site->entry.b == kind))
            return id;
        id = load_relaxed(&site->entry.link);
    }
    id = find(stack, thread, kind, config.heap_memory);
    return likely(id != 0) ? id : find(STACK_OTHER, THREAD_OTHER, kind, UINT64_MAX);
}

void site_count(uint32_t *place, uint32_t count, bool alone)
{
    uint32_t before = load_relaxed(place), after;
    do
        after = before + count < before ? UINT32_MAX : before + count;
    while (alone ? (store_relaxed(place, after), false)
                 : !__atomic_compare_exchange_n(place, &before, after, true, __ATOMIC_RELAXED,
                                                __ATOMIC_RELAXED));
}

/* Never below zero, even if a reader runs during a fold. */
static uint64_t less(const uint64_t *allocated, uint64_t freed)
{
    uint64_t all = load_relaxed(allocated);
    return all > freed ? all - freed : 0;
}

struct track_sum site_live(const struct site *site)
{
    const struct track_sum *own = &site->own.freed, *others = &site->others.freed;
    struct track_sum freed = {
        load_relaxed(&own->objects) + load_relaxed(&others->objects),
        load_relaxed(&own->requested) + load_relaxed(&others->requested),
        load_relaxed(&own->usable) + load_relaxed(&others->usable),
    };
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return (struct track_sum){
        less(&site->allocated.objects, freed.objects),
        less(&site->allocated.requested, freed.requested),
        less(&site->allocated.usable, freed.usable),
    };
}

/* ---- the recorder file ---- */

_Static_assert(sizeof(struct site) == sizeof(struct recorder_site) &&
                   offsetof(struct site, thread_link) == offsetof(struct recorder_site, era) &&
                   offsetof(struct site, allocated) == offsetof(struct recorder_site, allocated) &&
                   offsetof(struct site, others) == offsetof(struct recorder_site, others) &&
                   offsetof(struct site, again) == offsetof(struct recorder_site, again) &&
                   offsetof(struct site, peak) == offsetof(struct recorder_site, peak) &&
                   (int)SITE_CLASS_BITS == (int)RECORDER_CLASS_BITS &&
                   (int)SITE_ID_BITS == (int)RECORDER_ERA_AT,
               "a row of the file is a site");

INLINE void sum_copy(struct track_sum *to, const struct track_sum *from)
{
    store_relaxed(&to->requested, load_relaxed(&from->requested));
    store_relaxed(&to->usable, load_relaxed(&from->usable));
    store_release(&to->objects, load_relaxed(&from->objects));
}

static void sum_add_shared(struct track_sum *sum, size_t requested, size_t usable)
{
    __atomic_fetch_add(&sum->requested, requested, __ATOMIC_RELAXED);
    __atomic_fetch_add(&sum->usable, usable, __ATOMIC_RELAXED);
    __atomic_fetch_add(&sum->objects, 1, __ATOMIC_RELEASE);
}

static void ends_copy(struct site_ends *to, const struct site_ends *from)
{
    for (unsigned i = 0; i < LIFE_BUCKETS; i++)
        store_relaxed(&to->lives[i], load_relaxed(&from->lives[i]));
    sum_copy(&to->freed, &from->freed);
}

/* Everything, the key last. A row of an earlier era has none meanwhile. */
static NOINLINE void copy_fill(const struct site *site, uint32_t id)
{
    struct site *copy = mirror_row_make(SHEET_SITES, id);
    if (copy == NULL)
        return;
    store_release(&copy->entry.a, 0);
    store_relaxed(&copy->entry.b, site->entry.b);
    store_relaxed(&copy->thread_link, load_relaxed(&site->thread_link));
    sum_copy(&copy->peak, &site->peak);
    store_relaxed(&copy->peak_epoch, load_relaxed(&site->peak_epoch));
    store_relaxed(&copy->again, load_relaxed(&site->again));
    store_relaxed(&copy->moved_out, load_relaxed(&site->moved_out));
    ends_copy(&copy->own, &site->own);
    ends_copy(&copy->others, &site->others);
    sum_copy(&copy->allocated, &site->allocated);
    store_release(&copy->entry.a, load_relaxed(&site->entry.a));
    if (unlikely(load_relaxed(&mirror_code_new)))
        store_relaxed(&mirror_asked, true);
}

/* The row is new, or there is no file yet: in a forked child. */
static NOINLINE struct site *copy_slow(const struct site *site, uint32_t id, bool counted)
{
    if (!mirror_on()) {
        if (os_now_ms() >= load_relaxed(&mirror_due_ms))
            store_relaxed(&mirror_asked, true);
        return NULL;
    }
    copy_fill(site, id);
    return counted ? NULL : mirror_row(SHEET_SITES, id);
}

/* The row to count in; NULL: there is none, or the event was `counted` in the site, and the row is
 * new and has it. */
static struct site *copy_of(const struct site *site, uint32_t id, bool counted)
{
    struct site *copy = site_row(site, id);
    return likely(copy != NULL) ? copy : copy_slow(site, id, counted);
}

/* What a forked child has recorded without a file. It need not wait for one when that is much: this
 * may be its last event before it is killed. */
static NOINLINE void child_missed(const struct site *site, size_t usable)
{
    enum { MUCH = 1 << 20 }; /* bytes: two samples at the usual rate */
    int64_t rate = sampler_rate_of(site_rate(site));
    uint64_t bytes = rate > 0 && usable < (uint64_t)rate ? (uint64_t)rate : usable;
    if (__atomic_add_fetch(&mirror_missed, bytes, __ATOMIC_RELAXED) < MUCH)
        return;
    store_relaxed(&mirror_due_ms, 0);
    store_relaxed(&mirror_asked, true);
}

NOINLINE void site_copy_begin(const struct site *site, uint32_t id, size_t requested, size_t usable,
                              bool alone)
{
    struct site *copy = copy_of(site, id, true);
    if (copy != NULL && alone)
        sum_copy(&copy->allocated, &site->allocated);
    else if (copy != NULL)
        sum_add_shared(&copy->allocated, requested, usable);
    else if (!mirror_on())
        child_missed(site, usable);
}

void site_copy_again(const struct site *site, uint32_t id)
{
    struct site *copy = copy_of(site, id, true);
    if (copy != NULL)
        site_count(&copy->again, 1, false);
}

NOINLINE void site_copy_end_own(const struct site *site, uint32_t id, unsigned life)
{
    struct site *copy = copy_of(site, id, true);
    if (copy == NULL)
        return;
    if (life == LIFE_BUCKETS)
        site_count(&copy->moved_out, 1, false);
    else
        store_relaxed(&copy->own.lives[life], load_relaxed(&site->own.lives[life]));
    sum_copy(&copy->own.freed, &site->own.freed);
}

void site_copy_end_other(const struct site *site, uint32_t id, size_t requested, size_t usable,
                         unsigned life)
{
    struct site *copy = copy_of(site, id, false);
    if (copy == NULL)
        return;
    site_count(life == LIFE_BUCKETS ? &copy->moved_out : &copy->others.lives[life], 1, false);
    sum_add_shared(&copy->others.freed, requested, usable);
}

/* After what was live at the peak was saved. A row that is not there yet gets its peak when it is
 * filled. */
static void site_copy_peak(const struct site *site, uint32_t id)
{
    struct site *copy = mirror_on() ? mirror_row(SHEET_SITES, id) : NULL;
    if (copy == NULL)
        return;
    sum_copy(&copy->peak, &site->peak);
    store_release(&copy->peak_epoch, load_relaxed(&site->peak_epoch));
}

static void row_keep(struct recorder_site *to, uint32_t id)
{
    static const struct recorder_site none;
    const struct recorder_site *row = mirror_row(SHEET_SITES, id);
    *to = row != NULL ? *row : none;
}

/* Before a fold of one site into another: a reader of the file finds both as they were until it is
 * done. */
static void site_copy_fold(uint32_t from, uint32_t to)
{
    if (!mirror_on())
        return;
    struct recorder_fold *fold = &mirror_head()->fold;
    row_keep(&fold->before[0], from);
    row_keep(&fold->before[1], to);
    store_relaxed(&fold->from, from);
    store_release(&fold->to, to);
}

static void site_copy_folded(uint32_t from, uint32_t to)
{
    if (!mirror_on())
        return;
    copy_fill(site_at(from), from);
    copy_fill(site_at(to), to);
    store_release(&mirror_head()->fold.to, 0);
}

void sites_copy(void)
{
    uint32_t end = table_count(&sites_table);
    for (uint32_t id = 1; id < end; id++) {
        const struct site *site = site_at(id);
        if (load_acquire(&site->entry.a) != 0)
            copy_fill(site, id);
    }
}

/* ---- peaks, eras, folds ---- */

void site_save_now(struct site *site, uint32_t id, uint32_t epoch)
{
    struct track_sum live = site_live(site);
    store_relaxed(&site->peak.objects, live.objects);
    store_relaxed(&site->peak.requested, live.requested);
    store_relaxed(&site->peak.usable, live.usable);
    store_release(&site->peak_epoch, epoch);
    if (unlikely(load_relaxed(&mirror_wanted)))
        site_copy_peak(site, id);
}

/* No other thread allocates at this site, and a block of the new era can only be freed later. */
static void renew_alone(struct site *site)
{
    unsigned era = load_relaxed(&sites_era);
    uint32_t next = site_id(site->thread_link);
    site->allocated = site->peak = (struct track_sum){0};
    site->own = site->others = (struct site_ends){0};
    site->again = site->moved_out = site->peak_epoch = 0;
    store_release(&site->thread_link, site_word(next, era));
}

void site_renew(struct site *site)
{
    if (site_thread(site) != THREAD_OTHER) {
        renew_alone(site);
        return;
    }
    lock_take(&renew_lock);
    if (site_era(site->thread_link) != load_relaxed(&sites_era))
        renew_alone(site);
    lock_give(&renew_lock);
}

/* Era numbers are reused: marks sites of old eras, or an unused one would seem to be of this era.
 */
static void void_but(unsigned era)
{
    for (uint32_t id = 1; id < table_count(&sites_table); id++) {
        struct site *site = site_at(id);
        uint32_t word = load_relaxed(&site->thread_link);
        if (site_era(word) != era)
            __atomic_compare_exchange_n(&site->thread_link, &word,
                                        site_word(site_id(word), SITE_NO_ERA), false,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    }
}

void sites_forget(void)
{
    unsigned before = load_relaxed(&sites_era), next;
    do {
        next = (before + 1) % SITE_NO_ERA;
        if (next % (SITE_NO_ERA / 2) == 0)
            void_but(before);
    } while (!__atomic_compare_exchange_n(&sites_era, &before, next, false, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
}

static void sum_move(struct track_sum *to, struct track_sum *from)
{
    __atomic_fetch_add(&to->objects, from->objects, __ATOMIC_RELAXED);
    __atomic_fetch_add(&to->requested, from->requested, __ATOMIC_RELAXED);
    __atomic_fetch_add(&to->usable, from->usable, __ATOMIC_RELAXED);
    *from = (struct track_sum){0};
}

/* No other thread writes to a site whose thread has ended and that has no live block. */
static void fold(uint32_t to_id, uint32_t from_id)
{
    struct site *to = site_at(to_id), *from = site_at(from_id);
    site_copy_fold(from_id, to_id);
    store_relaxed(&folds, folds + 1);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    if (from->peak_epoch == load_relaxed(&sites_peak_epoch)) {
        site_save(to, to_id);
        sum_move(&to->peak, &from->peak);
    }
    from->peak_epoch = 0;
    sum_move(&to->allocated, &from->allocated);
    site_count(&to->again, from->again, false);
    site_count(&to->moved_out, from->moved_out, false);
    from->again = from->moved_out = 0;
    struct site_ends *ends[] = {&from->own, &from->others};
    for (unsigned k = 0; k < COUNT_OF(ends); k++) {
        sum_move(&to->others.freed, &ends[k]->freed);
        for (unsigned i = 0; i < LIFE_BUCKETS; i++) {
            site_count(&to->others.lives[i], ends[k]->lives[i], false);
            ends[k]->lives[i] = 0;
        }
    }
    store_release(&folds, folds + 1);
    site_copy_folded(from_id, to_id);
}

uint32_t sites_still(void)
{
    uint32_t now = load_acquire(&folds);
    for (unsigned i = 0; now % 2 != 0 && i < PATIENCE_MS; i++) {
        os_wait(&folds, now, 1);
        now = load_acquire(&folds);
    }
    return now;
}

bool sites_stood(uint32_t before)
{
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return load_relaxed(&folds) == before;
}

/* Repairs a free or a fold that was done halfway, after which more is freed than was allocated. */
void sites_recover(uint32_t parent_id)
{
    lock_break(&renew_lock, parent_id);
    folds = 0;
    table_recover(&sites_table);
    for (uint32_t id = 1; id < table_count(&sites_table); id++) {
        struct site *site = site_at(id);
        struct track_sum live = site_live(site);
        if (live.objects == 0 || live.usable == 0) {
            site->own.freed = site->allocated;
            site->others.freed = (struct track_sum){0};
        }
    }
}

void sites_abandoned(void)
{
    if (lock_is_own(&renew_lock))
        lock_give(&renew_lock);
}

void sites_fold_abandoned(void)
{
    if (folds % 2 != 0)
        store_release(&folds, folds + 1);
}

bool sites_ended(uint32_t thread)
{
    for (uint32_t id = load_acquire(threads_sites(thread)); id != 0;) {
        struct site *site = site_at(id);
        id = site_id(site->thread_link);
        if (site_era(site->thread_link) == load_relaxed(&sites_era) && site_live(site).objects != 0)
            return false;
    }
    return true;
}

bool sites_fold(uint32_t thread)
{
    bool empty = true;
    for (uint32_t id = load_acquire(threads_sites(thread)); id != 0;) {
        struct site *site = site_at(id);
        uint32_t from = id;
        id = site_id(site->thread_link);
        if (site_era(site->thread_link) != load_relaxed(&sites_era))
            continue;
        if (site_live(site).objects != 0) {
            empty = false;
            continue;
        }
        if (site->allocated.objects == 0)
            continue;
        uint32_t to = find(site_stack(site), THREAD_OTHER, site->entry.b, UINT64_MAX);
        if (to != 0) {
            site_use(site_at(to));
            fold(to, from);
        }
        empty &= to != 0;
    }
    return empty;
}
