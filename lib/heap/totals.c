/* SPDX-License-Identifier: MIT */
/*
 * See lib/heap/totals.h. Adding up the counters costs time for each heap, so the work here is to do
 * it seldom and yet at the right moments. Three parts: the peak (when to check, and what was live
 * then), limits of triggers (how far the program is from the next one), and the series (when a
 * point is due). Each part publishes a band or a limit that the slow paths of malloc and free
 * compare with; only a value outside of it leads here. Threads never wait for each other: the one
 * that gets `busy` does the work, and the others go on.
 */
#include "lib/heap/totals.h"

#include "base/confine.h"
#include "base/lock.h"
#include "base/os.h"
#include "lib/heap/recorder.h"
#include "lib/heap/sampler.h"
#include "lib/heap/series.h"
#include "lib/heap/track.h"

enum {
    BATCH_BYTES = 16 << 10, /* a thread shares its events after this many bytes at the latest, */
    BATCH_SHARE = 4096,     /* or this share of the heap if that is more */
    LOOK_SHARE = 256,       /* the heap is checked again after growth by this share, */
    LOOK_BYTES = 16 << 10,  /* and by this for each heap: about what its bins hold; */
    LOOK_FINER = 16,        /* by 1/16 of both while every block is recorded, as there are no
                               bins then */
    FAR_SHARE = 4,          /* a change of the heap by this share, */
    FAR_BYTES = 1 << 20,    /* and by at least this, becomes an extra point of the series, */
    FAR_MAX = 24,           /* but at most this many */
    FAR_WINDOW_MS = 16,     /* in this time. A point costs time for each heap, so with many heaps */
    HEAPS_A_MS = 16,        /* points are at least a millisecond apart for each 16 heaps */
    PART_SHARE = 32,        /* threads report at least this often on the way to a limit */
    PART_MIN = 1024,        /* but not for fewer bytes than this: reports have a price */
    PATIENCE_MS = 1000,     /* of a reader of the peak */
};

/* Usable bytes: of recorded events while every block is recorded, else of the counters of the
 * threads that reported since limits were set. Only differences are meaningful. */
static struct {
    uint64_t allocated, freed;
} progress __attribute__((aligned(64)));

static struct {
    uint64_t allocated, freed, live; /* on the scale of `progress`; 0: no limit */
    uint64_t held;                   /* held bytes at which live bytes may have reached the limit */
} goals = {.held = UINT64_MAX};

static struct {
    uint64_t bytes;
    struct totals_peak is;
    uint32_t busy; /* 1 while a thread works on it */
} peak __attribute__((aligned(64)));

struct totals_limits totals_limits;
bool totals_due, totals_counting, totals_at_peak;
struct totals_band totals_calm;
uint64_t totals_high = 1;
struct totals_band totals_band = {0, UINT64_MAX};

static void peak_copy(void);
static bool exact_from_start(void);
static uint64_t lower_of(uint64_t a, uint64_t b);
static void peak_in_sites_copy(uint64_t now_ms);

/* ---- the peak ------------------------------------------------------------------------ */

void totals_copy(void)
{
    if (!turn_take(&peak.busy))
        return;
    peak_copy();
    turn_give(&peak.busy);
}

/* The peak into the recorder file: into the other of its two places, then it is the one that
 * counts. With `peak.busy`. */
static void peak_copy(void)
{
    _Static_assert((int)ACCOUNT_ROWS <= (int)RECORDER_CLASSES, "classes of the recorder file");
    if (!mirror_on())
        return;
    struct recorder_head *head = mirror_head();
    uint32_t other = (load_relaxed(&head->peak_now) & 1) ^ 1;
    struct recorder_peak *to = &head->peaks[other];
    to->time_ms = peak.is.time_ms;
    to->bytes = peak.is.bytes;
    to->in_sites = peak.is.in_sites;
    for (unsigned row = 0; row < ACCOUNT_ROWS; row++) {
        unsigned place = row == ACCOUNT_LARGE ? RECORDER_CLASSES - 1 : row;
        to->classes[place].blocks = peak.is.classes[row].blocks;
        to->classes[place].bytes = peak.is.classes[row].bytes;
    }
    store_release(&head->peak_now, other);
    store_release(&head->peak_epoch, load_relaxed(&sites_peak_epoch));
}

/* Called with `peak.busy`: keeps the account if it is the largest so far. It is the peak then,
 * unless recorded events have found a larger one. Returns the live bytes. */
static uint64_t raise_peak(const struct account_sum classes[ACCOUNT_ROWS])
{
    struct account_sum total = account_total(classes);
    uint64_t live = account_live_bytes(&total);
    if (live > peak.is.bytes) {
        for (unsigned row = 0; row < ACCOUNT_ROWS; row++) {
            peak.is.classes[row].blocks = account_live(&classes[row]);
            peak.is.classes[row].bytes = account_live_bytes(&classes[row]);
        }
        peak.is.bytes = live;
    }
    if (live > load_relaxed(&peak.bytes)) {
        peak.is.in_sites = false;
        peak.is.time_ms = os_now_ms();
        store_relaxed(&peak.bytes, live);
        store_relaxed(&totals_at_peak, false);
        __atomic_fetch_add(&sites_peak_epoch, 1, __ATOMIC_RELAXED);
        peak_copy();
    }
    return live;
}

/* Sets when to check again: when the program has a step more than at the peak. If it seems to have
 * more already, bins have taken blocks that are not noted yet: then at a step more, or at a step
 * less, as they may be noted while the heap grows. */
static void calm_set(uint64_t now, uint64_t again, uint64_t step)
{
    bool above = now > again + step;
    uint64_t low = above ? now - step : 0, high = (above ? now : again) + step;
    store_relaxed(&totals_calm.low, low);
    store_relaxed(&totals_calm.width, high - low - 1);
    store_relaxed(&totals_high, held_bytes() + step);
    bins_note_above(again + step);
}

void totals_high_water(void)
{
    static BULK struct account_sum classes[ACCOUNT_ROWS]; /* static, because the stack may be
                                                             small */
    if (!turn_take(&peak.busy))
        return;
    uint64_t finer = sampler_rate() == SAMPLER_EXACT ? LOOK_FINER : 1;
    uint64_t now = held_by_program(), step = now / LOOK_SHARE / finer;
    uint64_t step_min = (heap_count() + (uint64_t)1) * LOOK_BYTES / finer;
    uint64_t again = now; /* the value at which the heap is as large as at the peak */
    if (!exact_from_start()) {
        uint64_t live = account_live_now();
        if (live > peak.is.bytes) {
            account_classes(classes);
            live = raise_peak(classes);
        }
        uint64_t highest = load_relaxed(&peak.bytes);
        again = lower_of(now + highest - live, highest);
    }
    calm_set(now, again, step > step_min ? step : step_min);
    turn_give(&peak.busy);
}

/* Whether every block since the start was recorded. */
static bool exact_from_start(void)
{
    return sampler_exact_always() && track_covered() && track_none_lost();
}

static uint64_t lower_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

void totals_peak(const struct account *now, struct totals_peak *out)
{
    bool mine = turn_wait(&peak.busy, PATIENCE_MS);
    if (mine)
        raise_peak(now->classes);
    *out = peak.is; /* also while another thread writes it: the copy may be mixed */
    if (mine)
        turn_give(&peak.busy);
}

/* ---- limits -------------------------------------------------------------------------- */

struct totals_now totals_now(void)
{
    struct account_sum total = account_now();
    return (struct totals_now){total.alloc_bytes, total.free_bytes, account_live_bytes(&total)};
}

/* The goal that is as far from `from` as the limit is from `now`; 0 stays 0. */
static uint64_t goal_for(uint64_t limit, uint64_t now, uint64_t from)
{
    if (limit == 0)
        return 0;
    uint64_t goal = from + (limit > now ? limit - now : 1);
    return goal == 0 ? 1 : goal;
}

/* The distance from `now` to a goal; 0 if it is reached. A goal of 0 is never reached. */
static uint64_t distance(const uint64_t *goal, uint64_t now)
{
    uint64_t last = load_relaxed(goal) - 1;
    return last < now ? 0 : last - now;
}

/* The held bytes at which live bytes may have reached the limit. */
static uint64_t held_goal(uint64_t limit, uint64_t live)
{
    uint64_t now = held_bytes();
    if (limit == 0)
        return UINT64_MAX;
    if (now < limit)
        return limit;
    uint64_t rest = limit > live ? (limit - live) / 2 : 0;
    return now + (rest > UNIT ? rest : UNIT);
}

/* No dump is due while nothing is recorded. */
static uint64_t held_limit(void)
{
    return sampler_rate() == SAMPLER_OFF ? UINT64_MAX : load_relaxed(&goals.held);
}

/* Sets the range of held bytes in which no thread needs to check. */
static void band_set(uint64_t low, uint64_t high)
{
    high = lower_of(high, held_limit());
    store_relaxed(&totals_band.low, low);
    store_relaxed(&totals_band.width, high > low ? high - low - 1 : 0);
}

/* The range in which the last point of the series is close enough. */
static void band_around(uint64_t center)
{
    uint64_t far = center / FAR_SHARE > FAR_BYTES ? center / FAR_SHARE : FAR_BYTES;
    band_set(center > far ? center - far : 0, center + far);
}

void totals_arm(const struct totals_limits *wanted, const struct totals_now *now)
{
    uint64_t allocated = load_relaxed(&progress.allocated), freed = load_relaxed(&progress.freed);
    uint64_t live = allocated > freed ? allocated - freed : 0;
    bool counting = wanted->allocated != 0 || wanted->freed != 0;
    store_relaxed(&totals_limits.allocated, wanted->allocated);
    store_relaxed(&totals_limits.freed, wanted->freed);
    store_relaxed(&totals_limits.live, wanted->live);
    store_relaxed(&totals_limits.time_ms, wanted->time_ms);
    store_relaxed(&totals_limits.punctual, wanted->punctual);
    store_relaxed(&goals.allocated, goal_for(wanted->allocated, now->allocated, allocated));
    store_relaxed(&goals.freed, goal_for(wanted->freed, now->freed, freed));
    store_relaxed(&goals.live, goal_for(wanted->live, now->live, live));
    store_relaxed(&goals.held, held_goal(wanted->live, now->live));
    band_around(held_bytes());
    if (!counting) {
        bins_part(UINT32_MAX);
    } else {
        uint64_t way =
            lower_of(distance(&goals.allocated, allocated), distance(&goals.freed, freed)) + 1;
        uint64_t part = way / PART_SHARE;
        bins_part((uint32_t)(part < PART_MIN ? PART_MIN : lower_of(part, UINT32_MAX)));
        if (!load_relaxed(&totals_counting))
            heap_interrupt(NULL); /* clocks that were set before may run for long */
    }
    store_relaxed(&totals_counting, counting);
}

/* Whether `now` has reached a goal. */
static bool reached(const uint64_t *goal, uint64_t now)
{
    return load_relaxed(goal) - 1 < now;
}

static void progress_add(uint64_t allocated, uint64_t freed)
{
    allocated = __atomic_add_fetch(&progress.allocated, allocated, __ATOMIC_RELAXED);
    freed = __atomic_add_fetch(&progress.freed, freed, __ATOMIC_RELAXED);
    if (unlikely(reached(&goals.allocated, allocated) || reached(&goals.freed, freed)))
        store_relaxed(&totals_due, true);
}

void totals_count(const struct account_sum *now, struct totals_counted *last)
{
    uint64_t allocated = now->alloc_bytes - last->allocated, freed = now->free_bytes - last->freed;
    bool anew = now->alloc_bytes < last->allocated || now->free_bytes < last->freed;
    *last = (struct totals_counted){now->alloc_bytes, now->free_bytes};
    if (!anew)
        progress_add(allocated, freed);
}

/* ---- events while every block is recorded ------------------------------------------------ */

/* The calling thread's recorder, if it keeps one. A batch from before a reset does not count. */
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

static void share(struct recorder *recorder)
{
    progress_add(recorder->batch.allocated, recorder->batch.freed);
    recorder_clear(recorder);
}

/* `own` is what this thread has not shared yet, or NULL.
 *
 * If this thread loses its processor between two loads, other threads may allocate and free any
 * number of bytes in the meantime. Those must not be counted as live, or no later moment would ever
 * be a peak: the loads are repeated until they fit, and if they never do, the later value of the
 * frees is taken. */
static struct totals_now progress_now(const struct recorder *own)
{
    enum { TRIES = 3 }; /* a thread that loses its processor three times in a row gives up */
    uint64_t freed = load_acquire(&progress.freed), allocated = 0;
    for (unsigned i = 0; i < TRIES; i++) {
        uint64_t before = freed;
        allocated = load_acquire(&progress.allocated);
        freed = load_acquire(&progress.freed);
        if (likely(freed == before))
            break;
    }
    freed += own == NULL ? 0 : own->batch.freed;
    allocated += own == NULL ? 0 : own->batch.allocated;
    return (struct totals_now){allocated, freed, allocated > freed ? allocated - freed : 0};
}

/* Checks the totals after an event. True if the heap is at a new peak. */
static bool look(struct totals_now now)
{
    bool grown = now.live > load_relaxed(&peak.bytes) && exact_from_start();
    if (grown) {
        uint64_t now_ms = os_now_ms();
        bool at_peak = load_relaxed(&totals_at_peak);
        store_relaxed(&peak.bytes, now.live);
        if (!at_peak) {
            store_relaxed(&totals_at_peak, true);
            store_relaxed(&peak.is.in_sites, true);
            __atomic_fetch_add(&sites_peak_epoch, 1, __ATOMIC_RELAXED);
        }
        if (!at_peak || now_ms != load_relaxed(&peak.is.time_ms)) {
            store_relaxed(&peak.is.time_ms, now_ms);
            peak_in_sites_copy(now_ms);
        }
    }
    if (unlikely(reached(&goals.allocated, now.allocated) || reached(&goals.freed, now.freed) ||
                 reached(&goals.live, now.live)))
        store_relaxed(&totals_due, true);
    return grown;
}

/* The sites know the peak of now; any thread, without a turn. */
static void peak_in_sites_copy(uint64_t now_ms)
{
    if (!mirror_on())
        return;
    struct recorder_head *head = mirror_head();
    struct recorder_peak *to = &head->peaks[load_relaxed(&head->peak_now) & 1];
    store_relaxed(&to->in_sites, 1);
    store_relaxed(&to->time_ms, now_ms);
    store_release(&head->peak_epoch, load_relaxed(&sites_peak_epoch));
}

/* The same, and sets how much the thread may do before it checks again. */
static bool recorder_look(struct recorder *recorder)
{
    struct totals_now now = progress_now(recorder);
    bool grown = look(now);
    uint64_t highest = load_relaxed(&peak.bytes), batch = highest / BATCH_SHARE;
    batch = batch > BATCH_BYTES ? batch : BATCH_BYTES;
    if (recorder->batch.allocated > batch || recorder->batch.freed > batch)
        share(recorder);
    recorder->allocated_max =
        lower_of(batch, recorder->batch.allocated + distance(&goals.allocated, now.allocated));
    recorder->freed_max =
        lower_of(batch, recorder->batch.freed + distance(&goals.freed, now.freed));
    recorder->room =
        lower_of(highest > now.live ? highest - now.live : 0, distance(&goals.live, now.live));
    return grown;
}

/* Programs that allocate little visit `totals_tick` too seldom for dumps by time. */
INLINE void time_look(void)
{
    if (unlikely(load_relaxed(&totals_limits.punctual)) &&
        reached(&totals_limits.time_ms, os_now_ms()))
        store_relaxed(&totals_due, true);
}

bool totals_grow(uint64_t bytes)
{
    struct recorder *recorder = kept_now();
    time_look();
    if (unlikely(recorder == NULL)) {
        progress_add(bytes, 0);
        return look(progress_now(NULL));
    }
    recorder->batch.allocated += bytes;
    if (unlikely(bytes > recorder->room || recorder->batch.allocated > recorder->allocated_max))
        return recorder_look(recorder);
    recorder->room -= bytes;
    return false;
}

void totals_shrink(uint64_t bytes)
{
    struct recorder *recorder = kept_now();
    time_look();
    if (unlikely(recorder == NULL)) {
        progress_add(0, bytes);
        return;
    }
    recorder->batch.freed += bytes;
    recorder->room += bytes;
    if (unlikely(recorder->batch.freed > recorder->freed_max))
        recorder_look(recorder);
}

void totals_settle(void)
{
    struct recorder *recorder = kept_now();
    if (recorder != NULL)
        share(recorder);
    recorder_drop();
}

void totals_inherit(struct recorder *recorder)
{
    if (recorder->era == load_relaxed(&sites_era))
        progress_add(recorder->batch.allocated, recorder->batch.freed);
    recorder_clear(recorder);
    recorder_put_back(recorder);
}

/* ---- time ---------------------------------------------------------------------------- */

static uint64_t rest_ms; /* no point is added before this time */

/* Resident memory by the kernel's counts. Asking takes some 10 us, so not at each point. */
static void memory_copy(struct recorder_head *head, uint64_t now_ms)
{
    enum { MEMORY_MS = 20 }; /* at most 50 times a second: 0.05 % of one processor */
    static uint64_t copied_ms;
    if (now_ms - copied_ms < MEMORY_MS || confined(CONFINE_OPEN))
        return;
    copied_ms = now_ms;
    struct series_memory memory;
    series_memory_now(&memory);
    if (memory.peak == 0) /* not known: what is there stays */
        return;
    const uint64_t numbers[RECORDER_MEMORY_COUNT] = {memory.peak, memory.anonymous, memory.files,
                                                     memory.shared};
    for (unsigned i = 0; i < COUNT_OF(numbers); i++)
        store_relaxed(&head->numbers[RECORDER_MEMORY_AT + i], numbers[i]);
}

/* What a reader of the recorder file can't add up by itself. */
static void numbers_copy(uint64_t now_ms)
{
    static BULK struct account account; /* stacks may be small */
    if (!turn_take(&peak.busy))
        return;
    account_take(&account);
    const uint64_t numbers[] = {account.cached_bytes,   account.fragmented_bytes,
                                account.dirty_bytes,    account.metadata_bytes,
                                account.mapped_bytes,   account.resident_bytes,
                                account.returned_bytes, account.heaps};
    _Static_assert(COUNT_OF(numbers) == RECORDER_MEMORY_AT, "resident memory is behind them");
    struct recorder_head *head = mirror_head();
    for (unsigned i = 0; i < COUNT_OF(numbers); i++)
        store_relaxed(&head->numbers[i], numbers[i]);
    memory_copy(head, now_ms);
    turn_give(&peak.busy);
}

static void add_point(uint64_t now_ms)
{
    store_relaxed(&rest_ms, now_ms + heap_count() / HEAPS_A_MS);
    struct account_sum total = account_now();
    if (mirror_on())
        numbers_copy(now_ms);
    band_around(held_bytes());
    series_add(&(struct series_point){
        .time_ms = now_ms,
        .live_bytes = account_live_bytes(&total),
        .allocated_bytes = total.alloc_bytes,
        .allocated_objects = total.allocs,
    });
}

void totals_tick(uint64_t now_ms)
{
    if (reached(&totals_limits.time_ms, now_ms))
        store_relaxed(&totals_due, true);
    if (mirror_on())
        store_relaxed(&mirror_head()->last_ms, now_ms);
    if (!series_due(now_ms) || now_ms < load_relaxed(&rest_ms))
        return;
    track_measure_ticks();
    add_point(now_ms);
}

/* Whether another extra point may be added now. */
static bool may_add_point(uint64_t now_ms)
{
    static uint64_t period;
    static unsigned left;
    if (load_relaxed(&period) != now_ms / FAR_WINDOW_MS) {
        store_relaxed(&period, now_ms / FAR_WINDOW_MS);
        store_relaxed(&left, FAR_MAX);
    }
    unsigned more = load_relaxed(&left);
    store_relaxed(&left, more == 0 ? 0 : more - 1);
    return more != 0;
}

void totals_far(void)
{
    uint64_t now_ms = os_now_ms();
    if (held_bytes() >= held_limit())
        store_relaxed(&totals_due, true);
    else if (now_ms >= load_relaxed(&rest_ms) && may_add_point(now_ms))
        add_point(now_ms);
    else
        band_set(0, UINT64_MAX); /* no check until the next regular point */
}

static void peak_row(void *context, const struct track_row *row)
{
    struct totals_peak *is = context;
    is->bytes += row->peak.usable;
    is->classes[row->class].blocks += row->peak.objects;
    is->classes[row->class].bytes += row->peak.usable;
}

void totals_reset(void)
{
    static BULK struct totals_peak in_sites; /* static, because the stack may be small */
    bool mine = turn_wait(&peak.busy, PATIENCE_MS);
    if (mine && peak.is.in_sites) {
        in_sites = (struct totals_peak){.time_ms = peak.is.time_ms};
        track_each(peak_row, &in_sites);
        if (in_sites.bytes > peak.is.bytes)
            peak.is = in_sites;
        peak.is.in_sites = false;
    }
    if (mine) {
        peak_copy();
        turn_give(&peak.busy);
    }
    store_relaxed(&progress.allocated, 0);
    store_relaxed(&progress.freed, 0);
    store_relaxed(&totals_at_peak, false);
    store_relaxed(&totals_calm.low, 0);
    store_relaxed(&totals_calm.width, 0);
    store_relaxed(&totals_high, 1);
}

void totals_recover(uint64_t allocated, uint64_t freed)
{
    struct recorder *recorder = recorder_kept();
    if (recorder != NULL)
        recorder_clear(recorder);
    progress.allocated = allocated;
    progress.freed = freed;
    peak.busy = 0;
}

void totals_abandoned(void)
{
    turn_abandon(&peak.busy);
}
