/* SPDX-License-Identifier: MIT */
/*
 * See lib/heap/track.h. A recorded block takes four steps: borrow a recorder, walk the stack,
 * find the site, count there. Its end finds the site in its record and counts there, too. Sites
 * hold what was recorded; totals.c knows about the heap as a whole.
 */
#include "lib/heap/track.h"

#include "base/compiler.h"
#include "base/config.h"
#include "base/confine.h"
#include "base/message.h"
#include "base/os.h"
#include "base/print.h"
#include "lib/alloc/alloc.h"
#include "lib/heap/recent.h"
#include "lib/heap/recorder.h"
#include "lib/heap/sampler.h"
#include "lib/heap/scale.h"
#include "lib/heap/series.h"
#include "lib/heap/sites.h"
#include "lib/heap/threads.h"
#include "lib/heap/totals.h"
#include "lib/watch/watch.h"

track_walker *track_walk;
static uint64_t lost;

enum { THREAD_AS_ALL, THREAD_ON, THREAD_OFF };
enum { KEPT_BITS = 14 }; /* scopes inside each other: 16,383 */
static __thread struct {
    uint16_t wish : 2;
    uint16_t kept : KEPT_BITS; /* scopes that the thread is in */
} thread_says;                 /* in two bytes: thread-local memory is scarce */
static bool any_kept;
static bool threads_off;
static bool uncovered; /* some block was not subject to recording */
static uint64_t off_ms;

static void words_copy(void);

void track_set_thread_active(bool active)
{
    thread_says.wish = active ? THREAD_ON : THREAD_OFF;
    if (!active)
        track_left_out();
}

void track_left_out(void)
{
    if (!track_covered())
        return;
    store_relaxed(&uncovered, true);
    words_copy();
}

/* What is told about the recording as a whole, in the recorder file. */
static void words_copy(void)
{
    if (!mirror_on())
        return;
    struct recorder_head *head = mirror_head();
    store_relaxed(&head->covered, track_covered());
    store_relaxed(&head->off_ms, track_off_ms());
    store_relaxed(&head->lost, load_relaxed(&lost));
    store_relaxed(&head->refused, stacks_refused());
    store_relaxed(&head->rate, sampler_rate());
    for (unsigned i = 0; i < SAMPLER_RATES; i++)
        store_relaxed(&head->rates[i], sampler_rate_of(i));
    store_relaxed(&head->era, load_relaxed(&sites_era));
}

bool track_thread_active(void)
{
    return thread_says.wish == THREAD_AS_ALL ? !load_relaxed(&threads_off)
                                             : thread_says.wish == THREAD_ON;
}

void track_set_threads_active(bool active)
{
    store_relaxed(&threads_off, !active);
    if (!active)
        track_left_out();
}

bool track_threads_active(void)
{
    return !load_relaxed(&threads_off);
}

bool track_set_thread_kept(int change)
{
    if (change < 0 ? thread_says.kept == 0 : thread_says.kept == (1u << KEPT_BITS) - 1)
        return false;
    thread_says.kept = (uint16_t)(thread_says.kept + change) & ((1u << KEPT_BITS) - 1);
    store_relaxed(&any_kept, true);
    return true;
}

static bool is_kept(const struct record *record)
{
    return (site_at(site_id(record->site))->entry.b & SITE_KEPT) != 0;
}

bool (*track_kept(void))(const struct record *record)
{
    return load_relaxed(&any_kept) ? is_kept : NULL;
}

uint32_t track_stack(uint32_t word)
{
    if (word == 0 || site_era(word) != load_relaxed(&sites_era))
        return STACK_NONE;
    return site_stack(site_at(site_id(word)));
}

bool track_covered(void)
{
    return !load_relaxed(&uncovered);
}

void track_lost(void)
{
    __atomic_fetch_add(&lost, 1, __ATOMIC_RELAXED);
}

bool track_none_lost(void)
{
    return load_relaxed(&lost) == 0;
}

uint64_t track_off_ms(void)
{
    return load_relaxed(&off_ms);
}

void track_recording(bool on)
{
    if (!on)
        store_relaxed(&uncovered, true);
    if (on || load_relaxed(&off_ms) == 0)
        store_relaxed(&off_ms, on ? 0 : os_now_ms());
    words_copy();
}

/* ---- time ---------------------------------------------------------------------------- */

/* Microseconds in 2^-32 a tick: measured again each time the run has become twice as long. */
static uint64_t tick_us = ((uint64_t)1 << 32) / 32;
static uint64_t first_ticks, first_ns, next_ns;

void track_measure_ticks(void)
{
    uint64_t ticks = confine_ticks(), ns = os_now_ns();
    threads_copy_name();
    if (first_ns == 0) {
        first_ticks = ticks;
        first_ns = ns;
        store_relaxed(&next_ns, ns + 10000);
    } else if (ns >= load_relaxed(&next_ns) && ticks > first_ticks) {
        double us = (double)(ns - first_ns) / 1000;
        store_relaxed(&tick_us, (uint64_t)(us / (double)(ticks - first_ticks) * 0x1p32));
        store_relaxed(&next_ns, ns + (ns - first_ns));
    }
}

static uint64_t born_now(void)
{
    return (confine_ticks() & (((uint64_t)1 << RECORD_BORN_BITS) - 1)) | 1; /* 0 means unknown */
}

static void born_set(struct record *record, uint64_t born)
{
    record->born_low = (uint32_t)born;
    record->born_high = (uint16_t)(born >> 32);
}

uint64_t track_us(uint64_t ticks)
{
    return (uint64_t)((unsigned __int128)ticks * load_relaxed(&tick_us) >> 32);
}

static uint64_t age_us(uint64_t born)
{
    return track_us((born_now() - born) & (((uint64_t)1 << RECORD_BORN_BITS) - 1));
}

static unsigned life_bucket(uint64_t born)
{
    uint64_t us = age_us(born);
    if (us == 0)
        return 0;
    unsigned bucket = 1 + (63u - (unsigned)__builtin_clzll(us)) / 2;
    return bucket < LIFE_BUCKETS ? bucket : LIFE_BUCKETS - 1;
}

/* ---- events -------------------------------------------------------------------------- */

INLINE void sum_add(struct track_sum *sum, size_t requested, size_t usable, bool alone)
{
    if (alone) {
        add_relaxed(&sum->requested, requested);
        add_relaxed(&sum->usable, usable);
        store_release(&sum->objects, sum->objects + 1);
    } else {
        __atomic_fetch_add(&sum->requested, requested, __ATOMIC_RELAXED);
        __atomic_fetch_add(&sum->usable, usable, __ATOMIC_RELAXED);
        __atomic_fetch_add(&sum->objects, 1, __ATOMIC_RELEASE);
    }
}

/* The same for a sum that no other thread adds to, and its copy in the recorder file. */
INLINE void sum_add_both(struct track_sum *sum, struct track_sum *copy, size_t requested,
                         size_t usable)
{
    struct track_sum now = {sum->objects + 1, sum->requested + requested, sum->usable + usable};
    store_relaxed(&sum->requested, now.requested);
    store_relaxed(&sum->usable, now.usable);
    store_release(&sum->objects, now.objects);
    store_relaxed(&copy->requested, now.requested);
    store_relaxed(&copy->usable, now.usable);
    store_release(&copy->objects, now.objects);
}

/* The row of the file is not made yet, or other threads count there, too. */
static NOINLINE void count_begin_slow(struct site *site, uint32_t id, size_t requested,
                                      size_t usable)
{
    bool alone = site_thread(site) != THREAD_OTHER;
    sum_add(&site->allocated, requested, usable, alone);
    site_copy_begin(site, id, requested, usable, alone);
    if (load_relaxed(&mirror_asked))
        store_relaxed(&totals_due, true);
}

/* A block of the site begins. */
INLINE void count_begin(struct site *site, uint32_t id, size_t requested, size_t usable)
{
    bool alone = site_thread(site) != THREAD_OTHER;
    if (likely(!load_relaxed(&mirror_wanted))) {
        sum_add(&site->allocated, requested, usable, alone);
        return;
    }
    struct site *row = likely(alone) ? site_row(site, id) : NULL;
    if (likely(row != NULL))
        sum_add_both(&site->allocated, &row->allocated, requested, usable);
    else
        count_begin_slow(site, id, requested, usable);
}

static uint32_t site_for(struct recorder *recorder, uint32_t stack, uint32_t kind)
{
    uint32_t hash = (stack * 31 + kind) % RECORDER_SITES;
    if (recorder->sites[hash].site != 0 && recorder->sites[hash].stack == stack &&
        recorder->sites[hash].kind == kind)
        return recorder->sites[hash].site;
    uint32_t site = sites_find(stack, threads_self(), kind);
    recorder->sites[hash].stack = stack;
    recorder->sites[hash].kind = kind;
    recorder->sites[hash].site = site;
    return site;
}

/* Says once that a stack is not kept, because heap.memory is reached or memory is out. */
static NOINLINE void tell_other(void)
{
    static bool told;
    char buffer[160];
    struct print line;
    if (load_relaxed(&told) || __atomic_exchange_n(&told, true, __ATOMIC_RELAXED))
        return;
    print_start(&line, buffer, sizeof buffer);
    print_text(&line, "memoir: the heap profile is full, new stacks are counted together as one; "
                      "raise heap.memory above ");
    print_size(&line, config.heap_memory);
    print_char(&line, '\n');
    message_flush(&line);
}

void track_begin(struct record *record, const struct caller *caller, unsigned class, size_t usable,
                 size_t requested, uint64_t born, unsigned rate)
{
    record->site = 0;
    if (unlikely(!track_thread_active()))
        return;
    struct recorder *recorder = recorder_take();
    if (recorder == NULL) {
        track_lost();
        return;
    }
    track_walker *walker = load_acquire(&track_walk);
    if (unlikely(walker != NULL))
        walker(&recorder->walk, config.heap_depth);
    else
        unwind(&recorder->walk, caller, config.heap_depth);
    uint32_t stack = stacks_add(&recorder->walk);
    uint32_t kind = site_kind(class, usable, rate);
    if (unlikely(thread_says.kept > 0))
        kind |= SITE_KEPT;
    uint32_t word = 0, id = site_for(recorder, stack, kind);
    if (id != 0) {
        struct site *site = site_at(id);
        site_use(site);
        if (rate != SAMPLER_EXACT_NUMBER || !totals_grow(usable))
            totals_change(site, id);
        count_begin(site, id, requested, usable);
        if (unlikely(site_stack(site) == STACK_OTHER))
            tell_other();
        word = site_word(id, site_era(load_relaxed(&site->thread_link)));
    } else {
        track_lost();
    }
    recorder_give(recorder);
    born_set(record, born != 0 && born != TRACK_MOVED ? born : born_now());
    record->slack = (uint16_t)(usable - requested);
    record->site = word;
    if (unlikely(load_relaxed(&block_events) & BLOCK_RECENT) && word != 0)
        recent_begin(record, site_stack(site_at(id)), requested, usable);
}

void track_again(const struct record *record, uint32_t before)
{
    uint32_t now = record->site;
    if (now == 0 || before == 0 || site_era(now) != site_era(before))
        return;
    struct site *site = site_at(site_id(now)), *last = site_at(site_id(before));
    if (site_stack(site) == site_stack(last) && site_thread(site) == site_thread(last)) {
        site_count(&site->again, 1, false);
        if (unlikely(load_relaxed(&mirror_wanted)))
            site_copy_again(site, site_id(now));
    }
}

uint64_t track_born(const struct record *record)
{
    return record->site == 0 ? TRACK_MOVED : record_born(record);
}

bool track_rate(const struct record *record, unsigned *rate)
{
    if (record->site == 0)
        return false;
    *rate = site_rate(site_at(site_id(record->site)));
    return true;
}

/* A block of the thread's own site ends, and the site has a row in the recorder file. */
INLINE void count_end_both(struct site *site, struct site *row, size_t requested, size_t usable,
                           unsigned life)
{
    uint32_t before = load_relaxed(&site->own.lives[life]);
    uint32_t lives = before + (before != UINT32_MAX);
    store_relaxed(&site->own.lives[life], lives);
    store_relaxed(&row->own.lives[life], lives);
    sum_add_both(&site->own.freed, &row->own.freed, requested, usable);
}

void track_end(struct record *record, const struct caller *caller, size_t usable, size_t requested,
               bool moved)
{
    uint32_t word = record->site;
    if (word == 0)
        return;
    uint64_t born = record_born(record);
    struct site *site = site_at(site_id(word));
    record->site = 0;
    if (unlikely(load_relaxed(&block_events) != 0))
        block_end(record, caller,
                  &(struct block_end){age_us(born), usable, site_stack(site), site_thread(site)});
    if (unlikely(site_era(word) != load_relaxed(&sites_era)))
        return;
    bool own = site_thread(site) == threads_self() && site_thread(site) != THREAD_OTHER;
    struct site_ends *ends = own ? &site->own : &site->others;
    unsigned life = moved ? LIFE_BUCKETS : life_bucket(born);
    totals_change(site, site_id(word));
    if (site_rate(site) == SAMPLER_EXACT_NUMBER)
        totals_shrink(usable);
    bool copied = unlikely(load_relaxed(&mirror_wanted));
    struct site *row = copied && own && !moved ? site_row(site, site_id(word)) : NULL;
    if (row != NULL) {
        count_end_both(site, row, requested, usable, life);
        return;
    }
    if (copied && !own)
        site_copy_end_other(site, site_id(word), requested, usable, life);
    if (moved)
        site_count(&site->moved_out, 1, false);
    else
        site_count(&ends->lives[life], 1, own);
    sum_add(&ends->freed, requested, usable, own); /* last: a site without live blocks may be
                                                      folded */
    if (copied && own)
        site_copy_end_own(site, site_id(word), life);
}

void track_thread_end(void)
{
    totals_settle();
    recorder_thread_end();
    threads_end();
}

/* ---- reading ------------------------------------------------------------------------- */

static bool row_fill(struct track_row *row, uint32_t stack, const struct site *site)
{
    unsigned class = site_class(site), era = load_relaxed(&sites_era);
    if (site_era(load_acquire(&site->thread_link)) != era)
        return false;
    *row = (struct track_row){
        .stack = stack,
        .thread = site_thread(site),
        .class = class < CLASS_COUNT ? class : ACCOUNT_LARGE,
        .size = class < CLASS_COUNT ? (uint32_t)class_size(class) : 0,
        .rate = sampler_rate_of(site_rate(site)),
        .live = site_live(site),
        .moved_out = load_relaxed(&site->moved_out),
        .again = load_relaxed(&site->again),
        .allocated = {load_relaxed(&site->allocated.objects),
                      load_relaxed(&site->allocated.requested),
                      load_relaxed(&site->allocated.usable)},
    };
    if (row->allocated.objects == 0)
        return false;
    bool saved = load_acquire(&site->peak_epoch) == load_relaxed(&sites_peak_epoch);
    row->peak = saved ? site->peak : row->live;
    for (unsigned i = 0; i < LIFE_BUCKETS; i++)
        row->lives[i] = load_relaxed(&site->own.lives[i]) + load_relaxed(&site->others.lives[i]);
    double mean = (double)row->allocated.usable / (double)row->allocated.objects;
    row->weight = 1 / sampler_picked(mean, row->rate);
    return load_relaxed(&sites_era) == era;
}

void track_each(void (*row)(void *context, const struct track_row *row), void *context)
{
    uint32_t stacks = stacks_count();
    for (uint32_t stack = 0; stack < stacks; stack++) {
        uint32_t id = load_acquire(stacks_sites(stack));
        while (id != 0) {
            struct track_row copy;
            const struct site *site = site_at(id);
            id = load_relaxed(&site->entry.link);
            uint32_t still;
            bool any;
            do {
                still = sites_still();
                any = row_fill(&copy, stack, site);
            } while (!sites_stood(still));
            if (any)
                row(context, &copy);
        }
    }
}

struct summing {
    struct scale *scale;
    struct track_totals *totals;
};

static void sum_more(struct track_sum *to, struct track_sum more)
{
    to->objects += more.objects;
    to->requested += more.requested;
    to->usable += more.usable;
}

static void totals_add(struct track_totals *totals, const struct scale_values *values)
{
    sum_more(&totals->live, values->live);
    sum_more(&totals->allocated, values->live);
    sum_more(&totals->allocated, values->freed);
    sum_more(&totals->peak, values->peak);
}

static void totals_row(void *context, const struct track_row *row)
{
    const struct summing *summing = context;
    struct scale_values values = scale_row(summing->scale, row);
    totals_add(summing->totals, &values);
}

void track_totals(struct track_totals *totals, struct scale *scale)
{
    *totals = (struct track_totals){.peak_ms = scale->peak.time_ms};
    struct summing summing = {scale, totals};
    track_each(totals_row, &summing);
    if (track_covered()) {
        struct scale_values rest = scale_rest(scale);
        totals_add(totals, &rest);
    }
}

bool track_totals_now(struct track_totals *totals)
{
    struct {
        struct account account;
        struct scale scale;
    } *room = os_map(sizeof *room); /* mapped, because the stack may be small */
    if (room == NULL)
        return false;
    account_take(&room->account);
    scale_prepare(&room->scale, &room->account);
    track_totals(totals, &room->scale);
    os_unmap(room, sizeof *room);
    return true;
}

static void seen_row(void *context, const struct track_row *row)
{
    struct track_seen *seen = context;
    seen->live += row->live.objects;
    seen->allocated += row->allocated.objects;
    seen->other += row->stack == STACK_OTHER ? row->allocated.objects : 0;
}

void track_seen(struct track_seen *seen)
{
    *seen = (struct track_seen){.lost = load_relaxed(&lost)};
    track_each(seen_row, seen);
}

void track_reset(void)
{
    store_relaxed(&uncovered, true);
    totals_reset();
    sites_forget();
    store_relaxed(&lost, 0);
    words_copy();
}

void track_copy(void)
{
    words_copy();
    totals_copy();
    series_copy();
    threads_copy();
    stacks_copy();
    sites_copy();
}

struct recorded {
    uint64_t allocated, freed;
};

static void recover_row(void *context, const struct track_row *row)
{
    struct recorded *recorded = context;
    if (row->rate != SAMPLER_EXACT)
        return;
    recorded->allocated += row->allocated.usable;
    recorded->freed += row->allocated.usable - row->live.usable;
}

void track_recover(uint32_t parent_id, bool first)
{
    struct recorded recorded = {0, 0};
    series_recover();
    stacks_recover();
    threads_recover(parent_id, first);
    sites_recover(parent_id);
    recent_recover(parent_id);
    track_each(recover_row, &recorded);
    totals_recover(recorded.allocated, recorded.freed);
}

/* What the thread had not shared before the fork was counted with the sites. */
void track_claim(void)
{
    struct recorder *recorder = recorder_kept();
    if (recorder != NULL)
        recorder_clear(recorder);
    threads_claim();
}

void track_abandoned(void)
{
    mirror_abandoned();
    recent_abandoned();
    sites_abandoned();
    threads_abandoned();
    series_abandoned();
    totals_abandoned();
    stacks_abandoned();
    recorder_abandoned();
}

bool track_own_stack(uintptr_t sp)
{
    return recorder_own_stack(sp);
}
