/* SPDX-License-Identifier: MIT */
/*
 * Decides when a dump is made; the interface is in lib/dump/dump.h. No thread watches: `totals_arm`
 * gets the nearest limits of all triggers, the thread that notices that one is reached sets
 * `totals_due`, and the next thread that leaves the allocator calls `triggers_run`.
 *
 * The lock of dump.c guards the table.
 */
#include "lib/dump/triggers.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>

#include "base/compiler.h"
#include "base/confine.h"
#include "base/lock.h"
#include "base/os.h"
#include "base/os_thread.h"
#include "lib/dump/memory_limit.h"
#include "lib/heap/observer.h"

enum { TRIGGERS = 32 }; /* three styles with ten kinds each, and two of the capture, fit */

static BULK struct trigger triggers[TRIGGERS];
static bool any, failure_awaited;
static void (*pending)(void); /* `run` of a style that is due */
static uint64_t signals;      /* one bit for each signal that came and whose dump is not made yet */

/* What each kind of trigger counts, in what steps, and which limit it sets. A new kind is a row.
 * Without one: ABOVE, which waits for the heap to grow and then to shrink (`above_due`), and what
 * is no total: calls, signals, failures, the end. */
struct kind {
    uint64_t (*total)(const struct totals_now *now, uint64_t now_ms); /* NULL: it counts nothing */
    uint64_t (*step)(struct trigger *trigger, uint64_t total);        /* the next total */
    size_t limit;    /* offset in struct totals_limits */
    bool only_grows; /* the next dump is a step from the last mark, not from what a large block
                      * added to it: the mean is the step, as jemalloc's. gperftools counts from
                      * the dump. */
};

static bool is_gperftools(const struct trigger *trigger);
static uint64_t above_high_water(const struct trigger *trigger, uint64_t live);
static uint64_t total_allocated(const struct totals_now *now, uint64_t now_ms);
static uint64_t step_plain(struct trigger *trigger, uint64_t total);
static uint64_t total_freed(const struct totals_now *now, uint64_t now_ms);
static uint64_t total_live(const struct totals_now *now, uint64_t now_ms);
static uint64_t step_peak(struct trigger *trigger, uint64_t live);
static uint64_t eighth(uint64_t bytes);
static uint64_t total_time(const struct totals_now *now, uint64_t now_ms);
static uint64_t step_time(struct trigger *trigger, uint64_t now_ms);
static bool is_capture(const struct trigger *trigger);
static uint64_t next_wait(struct trigger *trigger);

#define LIMIT(field) offsetof(struct totals_limits, field)
static const struct kind kinds[DUMP_REASONS] = {
    [DUMP_ALLOCATED] = {total_allocated, step_plain, LIMIT(allocated), true},
    [DUMP_FREED] = {total_freed, step_plain, LIMIT(freed), true},
    [DUMP_IN_USE] = {total_live, step_plain, LIMIT(live)},
    [DUMP_PEAK] = {total_live, step_peak, LIMIT(live)},
    [DUMP_TIME] = {total_time, step_time, LIMIT(time_ms)},
};
#undef LIMIT

void trigger_wait(struct trigger *trigger, const struct totals_now *now, uint64_t now_ms)
{
    const struct kind *kind = &kinds[trigger->kind];
    if (trigger->kind == DUMP_IN_USE && is_gperftools(trigger)) {
        trigger->next = above_high_water(trigger, now->live);
        return;
    }
    trigger->next = 0;
    if (trigger->kind == DUMP_ABOVE) {
        trigger->waiting = now->live >= trigger->step;
        trigger->next = trigger->step;
    } else if (kind->total != NULL) {
        uint64_t total = kind->total(now, now_ms);
        trigger->next = total + kind->step(trigger, total);
    }
}

static bool is_gperftools(const struct trigger *trigger)
{
    return trigger->style != NULL && trigger->style->names == DUMP_NAMES_GPERFTOOLS;
}

/* gperftools: from the highest level at which a dump was made, and one byte more. */
static uint64_t above_high_water(const struct trigger *trigger, uint64_t live)
{
    uint64_t mark = trigger->next > trigger->step ? trigger->next - trigger->step - 1 : 0;
    return (live > mark ? live : mark) + trigger->step + 1;
}

static uint64_t total_allocated(const struct totals_now *now, uint64_t now_ms)
{
    (void)now_ms;
    return now->allocated;
}

static uint64_t step_plain(struct trigger *trigger, uint64_t total)
{
    (void)total;
    return trigger->step;
}

static uint64_t total_freed(const struct totals_now *now, uint64_t now_ms)
{
    (void)now_ms;
    return now->freed;
}

static uint64_t total_live(const struct totals_now *now, uint64_t now_ms)
{
    (void)now_ms;
    return now->live;
}

static uint64_t step_peak(struct trigger *trigger, uint64_t live)
{
    return trigger->step > eighth(live) ? trigger->step : eighth(live);
}

/* How far below the limit ABOVE is ready again, and PEAK's smallest step. */
static uint64_t eighth(uint64_t bytes)
{
    return bytes / 8;
}

static uint64_t total_time(const struct totals_now *now, uint64_t now_ms)
{
    (void)now;
    return now_ms;
}

static uint64_t step_time(struct trigger *trigger, uint64_t now_ms)
{
    (void)now_ms;
    return is_capture(trigger) ? next_wait(trigger) : trigger->step;
}

static bool is_capture(const struct trigger *trigger)
{
    return trigger->style != NULL && trigger->style->names == DUMP_NAMES_CAPTURE;
}

/* The first snapshots of a capture come early: a program that is killed loses at most half of its
 * run. */
static uint64_t next_wait(struct trigger *trigger)
{
    enum { FIRST_MS = 500 }; /* shorter programs have the snapshot at their end */
    uint64_t wait = trigger->wait_ms == 0 ? FIRST_MS : 2 * trigger->wait_ms;
    return trigger->wait_ms = wait < trigger->step ? wait : trigger->step;
}

static bool above_due(struct trigger *trigger, uint64_t live)
{
    if (trigger->waiting) {
        trigger->waiting = live > trigger->step - eighth(trigger->step);
        return false;
    }
    trigger->waiting = live >= trigger->step;
    return trigger->waiting;
}

bool trigger_due(struct trigger *trigger, const struct totals_now *now, uint64_t now_ms)
{
    const struct kind *kind = &kinds[trigger->kind];
    if (trigger->kind == DUMP_ABOVE)
        return above_due(trigger, now->live);
    if (kind->total == NULL || kind->total(now, now_ms) < trigger->next)
        return false;
    uint64_t mark = trigger->next;
    trigger_wait(trigger, now, now_ms);
    if (!is_gperftools(trigger) && kind->only_grows)
        trigger->next -= (kind->total(now, now_ms) - mark) % trigger->step;
    return true;
}

void trigger_dumped(struct trigger *trigger, const struct dump_style *style,
                    const struct totals_now *now)
{
    if (trigger->style == style && is_gperftools(trigger) && kinds[trigger->kind].total != NULL &&
        trigger->kind != DUMP_TIME)
        trigger_wait(trigger, now, 0);
}

void trigger_took(struct trigger *trigger, uint64_t from_ms, uint64_t until_ms)
{
    uint64_t soonest = until_ms + (until_ms - from_ms);
    if (trigger->kind == DUMP_TIME && trigger->next < soonest)
        trigger->next = soonest;
}

static void lower(uint64_t *limit, uint64_t value)
{
    if (*limit == 0 || value < *limit)
        *limit = value;
}

static void above_limit(const struct trigger *trigger, const struct totals_now *now,
                        struct totals_limits *limits)
{
    if (trigger->waiting) { /* the heap can't be small again before this much is freed */
        uint64_t low = trigger->step - eighth(trigger->step), live = now->live;
        uint64_t min = eighth(trigger->step) / 4 + 1, far = live > low ? live - low : 0;
        lower(&limits->freed, now->freed + (far > min ? far : min));
    } else {
        lower(&limits->live, trigger->step);
    }
}

void trigger_limit(const struct trigger *trigger, const struct totals_now *now,
                   struct totals_limits *limits)
{
    const struct kind *kind = &kinds[trigger->kind];
    if (trigger->kind == DUMP_ABOVE)
        above_limit(trigger, now, limits);
    else if (kind->total != NULL)
        lower((uint64_t *)((char *)limits + kind->limit), trigger->next);
    limits->punctual |= trigger->kind == DUMP_TIME && !is_capture(trigger);
}

/* The totals of a moment: usable bytes, and the requested ones, which gperftools counts. */
struct moment {
    struct totals_now usable, requested;
};

static void row_add(void *context, const struct track_row *row)
{
    struct totals_now *sum = context;
    sum->allocated += row->allocated.requested;
    sum->live += row->live.requested;
}

/* Requested bytes are known while every block is recorded, as gperftools' profiler has it. */
static struct moment moment_now_locked(void)
{
    struct moment now = {.usable = totals_now()};
    bool theirs = false;
    for (unsigned i = 0; i < TRIGGERS; i++)
        theirs |= is_gperftools(&triggers[i]) && kinds[triggers[i].kind].total != NULL;
    now.requested = now.usable;
    if (!theirs || sampler_rate() != SAMPLER_EXACT)
        return now;
    now.requested = (struct totals_now){0};
    track_each(row_add, &now.requested);
    if (now.requested.allocated > now.requested.live)
        now.requested.freed = now.requested.allocated - now.requested.live;
    return now;
}

static const struct totals_now *counted_by(const struct trigger *trigger, const struct moment *now)
{
    return is_gperftools(trigger) ? &now->requested : &now->usable;
}

/* As many usable bytes ahead as requested ones are missing: these are reached later, if at all. */
static void lower_ahead(uint64_t *limit, uint64_t usable, uint64_t goal, uint64_t requested)
{
    if (goal != 0)
        lower(limit, usable + (goal > requested ? goal - requested : 0));
}

/* Sets the nearest limits. Called after any change, with the totals of that moment. */
static void arm_locked(const struct moment *now)
{
    struct totals_limits limits = {0}, theirs = {0};
    const struct totals_now *usable = &now->usable, *requested = &now->requested;
    for (unsigned i = 0; i < TRIGGERS; i++)
        if (triggers[i].style != NULL)
            trigger_limit(&triggers[i], counted_by(&triggers[i], now),
                          is_gperftools(&triggers[i]) ? &theirs : &limits);
    lower_ahead(&limits.allocated, usable->allocated, theirs.allocated, requested->allocated);
    lower_ahead(&limits.freed, usable->freed, theirs.freed, requested->freed);
    lower_ahead(&limits.live, usable->live, theirs.live, requested->live);
    lower_ahead(&limits.time_ms, 0, theirs.time_ms, 0);
    limits.punctual |= theirs.punctual;
    totals_arm(&limits, usable);
}

static uint64_t bit_of(uint64_t number)
{
    return (uint64_t)1 << (number - 1);
}

/* Takes the set of signals whose dumps are due, and empties it. */
static uint64_t signals_taken(void)
{
    return load_relaxed(&signals) == 0 ? 0 : __atomic_exchange_n(&signals, 0, __ATOMIC_ACQ_REL);
}

/* The process whose last dump is made, or under way: other threads, which may go on for a while,
 * make no later one that would push it out of those that are kept. */
static int last_of;

static void run_locked(void)
{
    if (load_relaxed(&last_of) == os_pid())
        return;
    uint64_t now_ms = os_now_ms(), came = signals_taken();
    struct moment now = moment_now_locked();
    for (unsigned i = 0; i < TRIGGERS; i++) {
        struct trigger *trigger = &triggers[i];
        const struct totals_now *counted = counted_by(trigger, &now);
        if (trigger->style == NULL)
            continue;
        if (trigger->kind == DUMP_SIGNAL ? !(came & bit_of(trigger->step))
                                         : !trigger_due(trigger, counted, now_ms))
            continue;
        if (trigger->style->run != NULL) {
            store_relaxed(&pending, trigger->style->run);
            continue;
        }
        uint64_t from_ms = os_now_ms();
        dump_write_locked(trigger->style, trigger->kind, NULL, NULL, counted);
        trigger_took(trigger, from_ms, os_now_ms());
        for (unsigned k = 0; k < TRIGGERS; k++)
            trigger_dumped(&triggers[k], trigger->style, counted);
    }
    arm_locked(&now);
}

/* A signal that comes during this call, or while another thread dumps, is not lost: `totals_due`
 * stays true, so the thread with the lock sees it in the end, or the next thread that calls this.
 */
static void run(void)
{
    if (confined(CONFINE_FILES))
        store_relaxed(&totals_due, false);
    do {
        if (!dump_lock(false))
            return;
        store_relaxed(&totals_due, false);
        dump_recorder_look_locked();
        run_locked();
        dump_unlock();
    } while (load_relaxed(&signals) != 0);
}

/* A function of the program's is left to a thread of the program's (dump.c, `unlock_and_tell`). */
void triggers_run(void)
{
    run();
    if (likely(load_relaxed(&pending) == NULL))
        return;
    if (os_thread_is_ours(os_tid())) {
        store_relaxed(&totals_due, true);
        return;
    }
    void (*call)(void) = __atomic_exchange_n(&pending, NULL, __ATOMIC_RELAXED);
    if (call != NULL)
        call();
}

void triggers_reset(void)
{
    if (!load_relaxed(&any) || !dump_lock(true))
        return;
    struct moment now = moment_now_locked();
    uint64_t now_ms = os_now_ms();
    for (unsigned i = 0; i < TRIGGERS; i++) {
        triggers[i].next = 0;
        trigger_wait(&triggers[i], counted_by(&triggers[i], &now), now_ms);
    }
    arm_locked(&now);
    dump_unlock();
}

/* May interrupt anything. Inside the allocator or a dump, the request waits until that has ended.
 * Everywhere else the dump is made here, because an idle program may not call malloc for long. */
static void on_signal(int number)
{
    __atomic_fetch_or(&signals, bit_of((uint64_t)number), __ATOMIC_ACQ_REL);
    store_relaxed(&totals_due, true);
    if (lock_held == 0)
        run();
}

static struct trigger *find_locked(const struct dump_style *style, enum dump_reason kind,
                                   bool share)
{
    struct trigger *unused = NULL;
    for (unsigned i = 0; i < TRIGGERS; i++) {
        struct trigger *trigger = &triggers[i];
        if (trigger->style == NULL)
            unused = unused == NULL ? trigger : unused;
        else if (trigger->style == style && trigger->kind == kind && trigger->share == share)
            return trigger;
    }
    return unused;
}

static bool set(const struct dump_style *style, enum dump_reason kind, bool share, uint64_t step)
{
    if ((step != 0 && os_secure()) || (step == 0 && !load_relaxed(&any)))
        return true;
    if (step != 0 && kind == DUMP_SIGNAL && (step > 64 || !os_signal((int)step, on_signal)))
        return false;
    if (!dump_lock(true))
        return false;
    if (step != 0)
        threads_keep_names();
    struct trigger *trigger = find_locked(style, kind, share);
    if (trigger != NULL) {
        store_relaxed(&any, true);
        *trigger = (struct trigger){
            .style = step == 0 ? NULL : style, .kind = kind, .share = share, .step = step};
        if (kind == DUMP_FAILURE)
            store_relaxed(&failure_awaited, step != 0 || failure_awaited);
    }
    struct moment now = moment_now_locked();
    if (trigger != NULL)
        trigger_wait(trigger, counted_by(trigger, &now), os_now_ms());
    arm_locked(&now);
    dump_unlock();
    return trigger != NULL || step == 0;
}

bool trigger_set(const struct dump_style *style, enum dump_reason kind, uint64_t step)
{
    return set(style, kind, false, step);
}

bool trigger_percent(const struct dump_style *style, unsigned percent)
{
    if (percent == 0 || os_secure())
        return set(style, DUMP_ABOVE, true, 0);
    uint64_t limit = memory_limit("/proc/self", "");
    return limit != UINT64_MAX && set(style, DUMP_ABOVE, true, limit / 100 * percent);
}

/* Makes the dumps of one kind; `once`: removes its triggers. */
static void dump_all(enum dump_reason kind, const char *words, bool once)
{
    if (!load_relaxed(&any) || !dump_lock(true))
        return;
    struct moment now = moment_now_locked();
    for (unsigned i = 0; i < TRIGGERS; i++) {
        if (triggers[i].style == NULL || triggers[i].kind != kind)
            continue;
        dump_write_locked(triggers[i].style, kind, NULL, words, counted_by(&triggers[i], &now));
        if (once)
            triggers[i].style = NULL;
    }
    dump_unlock();
}

void triggers_failure(void)
{
    if (load_relaxed(&failure_awaited) && lock_held == 0) {
        store_relaxed(&failure_awaited, false);
        dump_all(DUMP_FAILURE, NULL, true);
    }
}

bool triggers_wanted(void)
{
    return load_relaxed(&any);
}

void triggers_exit(const char *words)
{
    store_relaxed(&last_of, os_pid());
    dump_all(DUMP_EXIT, words, false);
}
