/* SPDX-License-Identifier: MIT */
/*
 * See lib/watch/heap_profile.h. Sites hold the truth; beside them run totals of the estimated
 * bytes, for what must be known at every event: the peak, the limits of triggers, the heap over
 * time.
 *
 * Who held memory at the peak costs next to nothing: a new peak only counts `sites_peak_epoch` up,
 * and while each block makes it higher still, not even that. The next change of a site first saves
 * what was live there, if that was not done for this peak yet; so a site that is unchanged since
 * the peak still is what it was then, and all others have saved it.
 *
 * While every block is recorded, a thread adds up its events and shares them in batches. It takes
 * its own batch into account, so that with one thread the peak is exact; with more it can be missed
 * by their batches.
 */
#include "lib/watch/heap_profile.h"

#include "base/arch.h"
#include "base/compiler.h"
#include "base/config.h"
#include "base/message.h"
#include "base/os.h"
#include "base/print.h"
#include "lib/alloc/alloc.h"
#include "lib/watch/recent.h"
#include "lib/watch/recorder.h"
#include "lib/watch/series.h"
#include "lib/watch/sites.h"
#include "lib/watch/stacks.h"
#include "lib/watch/threads.h"
#include "lib/watch/watch.h"

enum {
    BATCH_BYTES = 16 << 10, /* shared at the latest after so many bytes, */
    BATCH_SHARE = 4096,     /* or this share of the heap if that is more */
    BORN_BITS = 48,
    OBJECT_PARTS = 256, /* objects are estimated in these parts */
};

/* Estimated usable bytes and objects of all threads, as far as they have been shared. */
static struct {
    uint64_t allocated, freed, objects;
} totals __attribute__((aligned(64)));

static struct {
    uint64_t bytes, time_ms;
    bool lasts; /* nothing changed since but by blocks that made it higher still */
} peak __attribute__((aligned(64)));

struct profile_limits profile_limits;
bool profile_due;
static uint64_t lost;

enum { THREAD_AS_ALL, THREAD_ON, THREAD_OFF };
static __thread uint8_t thread_wish;
static bool threads_off;

void profile_set_thread_active(bool active)
{
    thread_wish = active ? THREAD_ON : THREAD_OFF;
}

bool profile_thread_active(void)
{
    return thread_wish == THREAD_AS_ALL ? !load_relaxed(&threads_off) : thread_wish == THREAD_ON;
}

void profile_set_threads_active(bool active)
{
    store_relaxed(&threads_off, !active);
}

bool profile_threads_active(void)
{
    return !load_relaxed(&threads_off);
}

/* What one picked block stands for. */
static void estimate(unsigned rate, size_t usable, uint64_t *bytes, uint64_t *objects)
{
    int64_t mean = sampler_rate_of(rate);
    *bytes = usable;
    *objects = OBJECT_PARTS;
    if (mean > 0) {
        double weight = 1 / sampler_picked((double)usable, mean);
        *bytes = (uint64_t)((double)usable * weight);
        *objects = (uint64_t)(OBJECT_PARTS * weight);
    }
}

/* ---- time ---------------------------------------------------------------------------- */

/* Microseconds in 2^-32 a tick: measured again whenever the time since the start has doubled. */
static uint64_t tick_us = ((uint64_t)1 << 32) / 32;
static uint64_t first_ticks, first_ns, next_ns;

static void ticks_measure(void)
{
    uint64_t ticks = arch_ticks(), ns = os_now_ns();
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
    return (arch_ticks() & (((uint64_t)1 << BORN_BITS) - 1)) | 1; /* 0 means unknown */
}

static void born_set(struct record *record, uint64_t born)
{
    record->born_low = (uint32_t)born;
    record->born_high = (uint16_t)(born >> 32);
}

static uint64_t born_of(const struct record *record)
{
    return (uint64_t)record->born_high << 32 | record->born_low;
}

static uint64_t age_us(uint64_t born)
{
    uint64_t ticks = (born_now() - born) & (((uint64_t)1 << BORN_BITS) - 1);
    return (uint64_t)((unsigned __int128)ticks * load_relaxed(&tick_us) >> 32);
}

static unsigned life_bucket(uint64_t born)
{
    uint64_t us = age_us(born);
    if (us == 0)
        return 0;
    unsigned bucket = 1 + (63u - (unsigned)__builtin_clzll(us)) / 2;
    return bucket < LIFE_BUCKETS ? bucket : LIFE_BUCKETS - 1;
}

/* ---- totals -------------------------------------------------------------------------- */

static void totals_add(const struct batch *batch)
{
    __atomic_fetch_add(&totals.allocated, batch->allocated, __ATOMIC_RELAXED);
    __atomic_fetch_add(&totals.freed, batch->freed, __ATOMIC_RELAXED);
    __atomic_fetch_add(&totals.objects, batch->objects, __ATOMIC_RELAXED);
}

static void share(struct recorder *recorder)
{
    totals_add(&recorder->batch);
    recorder_clear(recorder);
}

/* The batch of a thread, or none: what is from before all was forgotten does not count. */
static struct recorder *kept_now(void)
{
    struct recorder *recorder = recorder_kept();
    unsigned now = load_relaxed(&sites_era);
    if (recorder != NULL && unlikely(recorder->era != now)) {
        recorder_clear(recorder);
        recorder->era = now;
    }
    return recorder;
}

/* `own` is what this thread has not shared; NULL: nothing.
 *
 * Other threads may allocate and free any number of bytes between two loads, if this one has to
 * wait for a processor there. What was allocated then must not be taken for live, or nothing would
 * ever be a peak again: the loads are repeated until they fit, and if they never do, the frees are
 * those of the later time. */
static struct profile_now totals_now(const struct recorder *own)
{
    enum { TRIES = 3 };
    uint64_t freed = load_acquire(&totals.freed), allocated = 0;
    for (unsigned i = 0; i < TRIES; i++) {
        uint64_t before = freed;
        allocated = load_acquire(&totals.allocated);
        freed = load_acquire(&totals.freed);
        if (likely(freed == before))
            break;
    }
    freed += own == NULL ? 0 : own->batch.freed;
    allocated += own == NULL ? 0 : own->batch.allocated;
    return (struct profile_now){allocated, freed, allocated > freed ? allocated - freed : 0};
}

struct profile_now profile_now(void)
{
    return totals_now(kept_now());
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* How far `now` is from a limit; 0 when it is reached. A limit of 0 is none. */
static uint64_t distance(const uint64_t *limit, uint64_t now)
{
    uint64_t last = load_relaxed(limit) - 1;
    return last < now ? 0 : last - now;
}

/* Looks at the totals after an event. True if the heap is larger than ever before. */
static bool totals_look(struct profile_now now)
{
    bool grown = now.live > load_relaxed(&peak.bytes);
    if (grown) {
        store_relaxed(&peak.bytes, now.live);
        if (!load_relaxed(&peak.lasts)) {
            store_relaxed(&peak.lasts, true);
            store_relaxed(&peak.time_ms, os_now_ms());
            __atomic_fetch_add(&sites_peak_epoch, 1, __ATOMIC_RELAXED);
        }
    }
    if (unlikely(load_relaxed(&profile_limits.allocated) - 1 < now.allocated ||
                 load_relaxed(&profile_limits.freed) - 1 < now.freed ||
                 load_relaxed(&profile_limits.live) - 1 < now.live))
        store_relaxed(&profile_due, true);
    return grown;
}

/* The same, and how much the thread may do before it is time to look again. */
static bool recorder_look(struct recorder *recorder)
{
    struct profile_now now = totals_now(recorder);
    bool grown = totals_look(now);
    uint64_t highest = load_relaxed(&peak.bytes), batch = highest / BATCH_SHARE;
    batch = batch > BATCH_BYTES ? batch : BATCH_BYTES;
    if (recorder->batch.allocated > batch || recorder->batch.freed > batch)
        share(recorder);
    recorder->allocated_most = least(batch, recorder->batch.allocated +
                                                distance(&profile_limits.allocated, now.allocated));
    recorder->freed_most =
        least(batch, recorder->batch.freed + distance(&profile_limits.freed, now.freed));
    recorder->room = least(highest > now.live ? highest - now.live : 0,
                           distance(&profile_limits.live, now.live));
    return grown;
}

/* True if that makes the heap larger than ever before. */
static bool totals_grow(uint64_t bytes, uint64_t objects)
{
    struct recorder *recorder = kept_now();
    if (unlikely(recorder == NULL)) {
        totals_add(&(struct batch){.allocated = bytes, .objects = objects});
        return totals_look(totals_now(NULL));
    }
    recorder->batch.allocated += bytes;
    recorder->batch.objects += objects;
    if (unlikely(bytes > recorder->room || recorder->batch.allocated > recorder->allocated_most))
        return recorder_look(recorder);
    recorder->room -= bytes;
    return false;
}

static void totals_shrink(uint64_t bytes)
{
    struct recorder *recorder = kept_now();
    if (unlikely(recorder == NULL)) {
        totals_add(&(struct batch){.freed = bytes});
        totals_look(totals_now(NULL));
        return;
    }
    recorder->batch.freed += bytes;
    recorder->room += bytes;
    if (unlikely(recorder->batch.freed > recorder->freed_most))
        recorder_look(recorder);
}

/* Before a site changes by anything but a block that makes the heap larger than ever. */
INLINE void site_change(struct site *site)
{
    if (unlikely(load_relaxed(&peak.lasts)))
        store_relaxed(&peak.lasts, false);
    site_save(site);
}

/* ---- events -------------------------------------------------------------------------- */

static void sum_add(struct profile_sum *sum, size_t requested, size_t usable, bool alone)
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

static uint32_t site_for(struct recorder *recorder, uint32_t stack, uint32_t kind)
{
    uint32_t hash = (stack * 31 + kind) % RECORDER_SITES;
    if (recorder->kept && recorder->sites[hash].site != 0 && recorder->sites[hash].stack == stack &&
        recorder->sites[hash].kind == kind)
        return recorder->sites[hash].site;
    uint32_t site = sites_find(stack, threads_self(), kind);
    recorder->sites[hash].stack = stack;
    recorder->sites[hash].kind = kind;
    recorder->sites[hash].site = site;
    return site;
}

/* The first time that a stack is not kept: it would take more memory than it may or can. */
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

void profile_begin(struct record *record, const struct caller *caller, unsigned class,
                   size_t usable, size_t requested, uint64_t born, unsigned rate)
{
    record->site = 0;
    if (unlikely(!profile_thread_active()))
        return;
    struct recorder *recorder = recorder_take();
    if (recorder == NULL) {
        __atomic_fetch_add(&lost, 1, __ATOMIC_RELAXED);
        return;
    }
    unwind(&recorder->walk, caller, config.heap_depth);
    uint32_t stack = stacks_add(&recorder->walk);
    uint32_t word = 0, id = site_for(recorder, stack, site_kind(class, usable, rate));
    if (id != 0) {
        struct site *site = site_at(id);
        uint64_t bytes, objects;
        site_use(site);
        estimate(rate, usable, &bytes, &objects);
        if (!totals_grow(bytes, objects))
            site_change(site);
        sum_add(&site->allocated, requested, usable, site_thread(site) != THREAD_OTHER);
        if (born != 0)
            site_count(&site->moved_in, 1, false);
        if (unlikely(site_stack(site) == STACK_OTHER))
            tell_other();
        word = site_word(id, site_era(load_relaxed(&site->thread_link)));
    } else {
        __atomic_fetch_add(&lost, 1, __ATOMIC_RELAXED);
    }
    recorder_give(recorder);
    born_set(record, born != 0 && born != PROFILE_MOVED ? born : born_now());
    record->slack = (uint16_t)(usable - requested);
    record->site = word;
    if (unlikely(load_relaxed(&block_events) & BLOCK_RECENT) && word != 0)
        recent_begin(record, site_stack(site_at(id)), requested, usable);
}

uint64_t profile_born(const struct record *record)
{
    return record->site == 0 ? PROFILE_MOVED : born_of(record);
}

bool profile_rate(const struct record *record, unsigned *rate)
{
    if (record->site == 0)
        return false;
    *rate = site_rate(site_at(site_id(record->site)));
    return true;
}

void profile_end(struct record *record, const struct caller *caller, size_t usable,
                 size_t requested, bool moved)
{
    uint32_t word = record->site;
    if (word == 0)
        return;
    uint64_t born = born_of(record), bytes, objects;
    struct site *site = site_at(site_id(word));
    record->site = 0;
    if (unlikely(load_relaxed(&block_events) != 0))
        block_end(record, caller,
                  &(struct block_end){age_us(born), usable, site_stack(site), site_thread(site)});
    if (unlikely(site_era(word) != load_relaxed(&sites_era)))
        return;
    bool own = site_thread(site) == threads_self() && site_thread(site) != THREAD_OTHER;
    struct site_ends *ends = own ? &site->own : &site->others;
    site_change(site);
    estimate(site_rate(site), usable, &bytes, &objects);
    totals_shrink(bytes);
    if (moved)
        site_count(&site->moved_out, 1, false);
    else
        site_count(&ends->lives[life_bucket(born)], 1, own);
    sum_add(&ends->freed, requested, usable, own); /* last: without live blocks it may be folded */
}

void profile_tick(uint64_t now_ms)
{
    uint64_t limit = load_relaxed(&profile_limits.time_ms);
    if (limit - 1 < now_ms)
        store_relaxed(&profile_due, true);
    if (load_relaxed(&peak.lasts))
        store_relaxed(&peak.time_ms, now_ms);
    if (!series_due(now_ms))
        return;
    ticks_measure();
    uint64_t freed = load_relaxed(&totals.freed), allocated = load_relaxed(&totals.allocated);
    series_add(&(struct profile_point){
        .time_ms = now_ms,
        .live_bytes = allocated > freed ? allocated - freed : 0,
        .allocated_bytes = allocated,
        .allocated_objects = load_relaxed(&totals.objects) / OBJECT_PARTS,
    });
}

void profile_settle(void)
{
    struct recorder *recorder = kept_now();
    if (recorder != NULL)
        share(recorder);
    recorder_drop();
}

void profile_inherit(struct recorder *recorder)
{
    if (recorder->era == load_relaxed(&sites_era))
        totals_add(&recorder->batch);
    recorder_clear(recorder);
    recorder_put_back(recorder);
}

void profile_thread_end(void)
{
    profile_settle();
    threads_end();
}

/* ---- reading ------------------------------------------------------------------------- */

static bool row_fill(struct profile_row *row, uint32_t stack, const struct site *site)
{
    unsigned class = site_class(site), era = load_relaxed(&sites_era);
    if (site_era(load_acquire(&site->thread_link)) != era)
        return false;
    *row = (struct profile_row){
        .stack = stack,
        .thread = site_thread(site),
        .size = class < CLASS_COUNT ? (uint32_t)class_size(class) : 0,
        .rate = sampler_rate_of(site_rate(site)),
        .live = site_live(site),
        .moved_in = load_relaxed(&site->moved_in),
        .moved_out = load_relaxed(&site->moved_out),
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

void profile_each(void (*row)(void *context, const struct profile_row *row), void *context)
{
    uint32_t stacks = stacks_count();
    for (uint32_t stack = 0; stack < stacks; stack++) {
        uint32_t id = load_acquire(stacks_sites(stack));
        while (id != 0) {
            struct profile_row copy;
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

static void sum_scaled(struct profile_sum *to, const struct profile_sum *sum, double weight)
{
    to->objects += (uint64_t)((double)sum->objects * weight + 0.5);
    to->requested += (uint64_t)((double)sum->requested * weight + 0.5);
    to->usable += (uint64_t)((double)sum->usable * weight + 0.5);
}

static void totals_row(void *context, const struct profile_row *row)
{
    struct profile_totals *sum = context;
    sum_scaled(&sum->live, &row->live, row->weight);
    sum_scaled(&sum->allocated, &row->allocated, row->weight);
    sum_scaled(&sum->peak, &row->peak, row->weight);
    sum->seen_live += row->live.objects;
    sum->seen_allocated += row->allocated.objects;
    sum->other += row->stack == STACK_OTHER ? row->allocated.objects : 0;
}

void profile_totals(struct profile_totals *out)
{
    *out = (struct profile_totals){.peak_ms = load_relaxed(&peak.time_ms),
                                   .lost = load_relaxed(&lost)};
    profile_each(totals_row, out);
}

void profile_reset(void)
{
    sites_forget();
    store_relaxed(&totals.allocated, 0);
    store_relaxed(&totals.freed, 0);
    store_relaxed(&totals.objects, 0);
    store_relaxed(&peak.bytes, 0);
    store_relaxed(&peak.lasts, false);
    store_relaxed(&lost, 0);
}

/* Threads that stayed behind had batches of their own: the totals come from the sites again. */
static void recover_row(void *context, const struct profile_row *row)
{
    (void)context;
    double live = (double)row->live.usable, allocated = (double)row->allocated.usable;
    totals.allocated += (uint64_t)(allocated * row->weight);
    totals.freed += (uint64_t)((allocated - live) * row->weight);
    totals.objects += (uint64_t)((double)row->allocated.objects * row->weight * OBJECT_PARTS);
}

void profile_recover(uint32_t parent_id)
{
    series_recover();
    stacks_recover();
    threads_recover(parent_id);
    sites_recover(parent_id);
    recent_recover(parent_id);
    struct recorder *recorder = recorder_kept();
    if (recorder != NULL)
        recorder_clear(recorder);
    totals.allocated = totals.freed = totals.objects = 0;
    profile_each(recover_row, NULL);
}
