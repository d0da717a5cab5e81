/* SPDX-License-Identifier: MIT */
/*
 * See lib/window/arena.h. At start a place for the window is chosen, at random within a range that
 * kernels leave alone. Then the window is opened piece by piece, each a share of what is open;
 * where another mapping is in the way, it is skipped. Tables grow with the window, under one lock,
 * and before `window.granules` says so.
 */
#include "lib/window/arena.h"

#include <errno.h>

#include "base/config.h"
#include "base/os.h"
#include "lib/window/huge.h"

/*
 * Places to try, widest first. The first one, from 32 TiB with the tables below it to 42.5 TiB, is
 * clear of what x86-64 and 48-bit aarch64 kernels use on their own (programs and libraries at the
 * top, or from 42.6 TiB up in the old layout), of the sanitizers' shadows and of the heaps that
 * language runtimes put at fixed addresses (clisp's goes up to 32 TiB). The others serve kernels
 * and emulators with fewer address bits, and thread sanitizer, which knows low addresses only.
 */
struct place {
    uintptr_t base;
    size_t size;
};

static const struct place places[] = {
#ifndef __SANITIZE_THREAD__
    {UINT64_C(34) << 40, (size_t)8 << 40},
    {UINT64_C(1) << 40, (size_t)1 << 40},
#endif
    {UINT64_C(1) << 37, (size_t)128 << 30},
    {UINT64_C(1) << 34, (size_t)16 << 30},
};

enum {
    CLAIM_FIRST = 4 << 20, /* bytes of the window opened at first, */
    CLAIM_MAX = 64 << 20,  /* and later at most, when less would do; */
    CLAIM_SHARE = 4,       /* between them a part of what is open */
    SKIP = 64 << 20, /* how far to move on when something stands in the way; then twice that */
    TABLE_STEP = 256 << 10,
    LIVE_SLACK =
        2 * LIVE_LINE, /* bytes: a table of live blocks begins a line after its first page */
    HUGE_PAGE = 2 << 20,
    PARTS = 16, /* of the addresses below the window, in which the tables have their places */
    STAGGER = 64 << 10,
};

/* A table that grows upwards: [start, start + mapped) is there, and what lies between that and
 * `growing` may be, while a thread is at it. */
struct table {
    char *start;
    size_t mapped, max, growing;
};

_Alignas(64) struct window window; /* base, granules and kinds in one line */
struct lock arena_lock = {.rank = LOCK_ARENA};

enum { LIVE_TABLES = 3 };
static const uint8_t live_shifts[LIVE_TABLES] = {4, 6, 8};
static struct table live[LIVE_TABLES], kinds, units, spans, meta;
static size_t window_size; /* bytes that may ever be opened */
static size_t claimed;     /* bytes of the window that are mapped: gaps do not count */
static size_t beside;      /* bytes of blocks elsewhere */
static size_t memory;      /* the machine's */

/* Parts of the window that were skipped, in offsets, in order. */
enum { GAPS_MAX = 4096 };
static BULK struct {
    size_t start, end;
} gaps[GAPS_MAX];
static unsigned gaps_count;

/* A piece that is mapped while its tables are not yet: its bytes, 0 when there is none. */
static size_t opening_at, opening;

/* When memory is out, each malloc would ask the kernel a dozen times in vain. What was refused is
 * refused again until the clock moves on, 1 to 10 ms: blocks still come from what is free, and at
 * last from outside.c, which asks in any case. */
struct refusal {
    uint64_t at_ms;
    size_t bytes;
};
static struct refusal claim_refused, meta_refused;

static bool place_try(const struct place *place);
static struct table table_at(char *part, unsigned number, size_t max);
static bool table_grow(struct table *table, size_t bytes);
static bool table_map(struct table *table, size_t step);
static unsigned live_table(unsigned mark);
static bool refused_lately(const struct refusal *refusal, size_t bytes);
static void refuse(struct refusal *refusal, size_t bytes);

bool arena_init(void)
{
    memory = os_memory_size(); /* now, before the program may forbid itself to ask */
    for (size_t i = 0; i < COUNT_OF(places); i++)
        if (place_try(&places[i]))
            return true;
    return false;
}

static bool place_try(const struct place *place)
{
    uintptr_t slide = (os_random() % (place->size / 16)) & ~(uintptr_t)(HUGE_PAGE - 1);
    size_t part = place->size / (4 * PARTS);
    uintptr_t base = place->base + slide;
    size_t fine = live_shifts[0], middle = live_shifts[1], coarse = live_shifts[2];
    char *low = (char *)(base - PARTS * part);
    kinds = table_at(low, 1, place->size / UNIT);
    units = table_at(low + part, 2, place->size / UNIT * sizeof(uint32_t));
    live[2] = table_at(low + 2 * part, 3, (place->size >> coarse) + LIVE_SLACK);
    live[1] = table_at(low + 4 * part, 4, (place->size >> middle) + LIVE_SLACK);
    live[0] = table_at(low + 6 * part, 5, (place->size >> fine) + LIVE_SLACK);
    spans = table_at(low + 12 * part, 6, part);
    meta = table_at(low + 14 * part, 7, part);
    if (!table_grow(&spans, 1) || !table_grow(&meta, 1))
        return false;
    window_size = place->size;
    for (unsigned mark = 0; mark < MARK_COUNT; mark++) {
        unsigned i = live_table(mark), shift = live_shifts[i];
        window.live[mark] = (uintptr_t)live[i].start + LIVE_LINE + shift - (base >> shift);
    }
    window.kinds = (uint8_t *)kinds.start;
    window.kinds_at_0 = (uint8_t *)(kinds.start - (base >> UNIT_SHIFT));
    window.units = (uint32_t *)units.start;
    window.spans = (struct span *)spans.start;
    window.meta = meta.start;
    window.base = base;
    return true;
}

/* Each table begins a little further into its part than the one before. Some processors look a line
 * of the first-level cache up by a hash of address bits 12 to 27: tables that agree in all of them,
 * as those at round addresses do, push each other's lines out. */
static struct table table_at(char *part, unsigned number, size_t max)
{
    return (struct table){part + (size_t)number * STAGGER, 0, max, 0};
}

static bool table_grow(struct table *table, size_t bytes)
{
    if (bytes <= load_acquire(&table->mapped))
        return true;
    if (bytes > table->max)
        return false;
    size_t step = (bytes - table->mapped + TABLE_STEP - 1) & ~(size_t)(TABLE_STEP - 1);
    size_t page = os_page_size();
    return table_map(table, step) ||
           table_map(table, (bytes - table->mapped + page - 1) & ~(page - 1));
}

static bool table_map(struct table *table, size_t step)
{
    store_relaxed(&table->growing, table->mapped + step);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    bool ok = os_map_at(table->start + table->mapped, step) == 0;
    if (ok)
        store_release(&table->mapped, table->mapped + step);
    else
        store_relaxed(&table->growing, table->mapped);
    return ok;
}

/* The coarsest table whose bytes stand for no more than a block. */
static unsigned live_table(unsigned mark)
{
    size_t size = mark == MARK_FREE || mark == MARK_LARGE || mark == MARK_WATCHED
                      ? UNIT
                      : class_size(mark_class(mark));
    unsigned i = LIVE_TABLES - 1;
    while (i > 0 && size >> live_shifts[i] == 0)
        i--;
    return i;
}

/* Takes [from, to) if it is the first that ends behind `at`. */
static void part_take(uintptr_t at, uintptr_t from, uintptr_t to, uintptr_t *start, uintptr_t *end)
{
    if (to > at && from < to && from < *start) {
        *start = from;
        *end = to;
    }
}

/* The first gap that begins behind the offset, or `count`. */
static unsigned gap_behind(size_t offset, unsigned count)
{
    unsigned low = 0;
    while (low < count) {
        unsigned middle = low + (count - low) / 2;
        if (gaps[middle].start > offset)
            count = middle;
        else
            low = middle + 1;
    }
    return low;
}

bool arena_part(uintptr_t at, uintptr_t *start, uintptr_t *end)
{
    const struct table *const tables[] = {&kinds, &units, &spans, &meta};
    *start = UINTPTR_MAX;
    for (unsigned i = 0; i < COUNT_OF(tables) + LIVE_TABLES; i++) {
        const struct table *table = i < LIVE_TABLES ? &live[i] : tables[i - LIVE_TABLES];
        uintptr_t low = (uintptr_t)table->start;
        part_take(at, low, low + load_relaxed(&table->growing), start, end);
    }
    unsigned count = load_acquire(&gaps_count);
    unsigned gap = gap_behind(at > window.base ? at - window.base : 0, count);
    size_t open_end = load_acquire(&window.granules) * GRANULE;
    part_take(at, window.base + (gap == 0 ? 0 : gaps[gap - 1].end),
              window.base + (gap == count ? open_end : gaps[gap].start), start, end);
    uintptr_t new = window.base + opening_at;
    part_take(at, new, new + load_relaxed(&opening), start, end);
    return *start != UINTPTR_MAX;
}

bool arena_renew(void *at, size_t bytes)
{
    if (!os_map_over(at, bytes))
        return false;
    huge_renewed(at, bytes);
    return true;
}

static bool open_at(size_t offset, size_t bytes)
{
    size_t end = offset + bytes;
    /* One unit more than asked for: the neighbour beyond the last one is looked at, too. */
    for (unsigned i = 0; i < LIVE_TABLES; i++)
        if (!table_grow(&live[i], (end >> live_shifts[i]) + LIVE_SLACK))
            return false;
    return table_grow(&kinds, end / UNIT + 1) &&
           table_grow(&units, (end / UNIT + 1) * sizeof(uint32_t));
}

/* Of more gaps than there is room for, the last ones count as ours. */
static void gap_note(size_t start, size_t end)
{
    if (start == end || gaps_count == GAPS_MAX)
        return;
    gaps[gaps_count].start = start;
    gaps[gaps_count].end = end;
    store_release(&gaps_count, gaps_count + 1);
}

/* Maps `bytes` at the end of what is open, past anything that is in the way. The first unit of the
 * window stays unused: unit 0 means "none", and every unit has one below it. */
static size_t claim_locked(size_t bytes, bool for_one, int *error)
{
    size_t end = window.granules * GRANULE, skip = SKIP;
    for (size_t at = end; at + bytes <= window_size; at += skip, skip *= 2) {
        *error = os_map_at((char *)window.base + at, bytes);
        opening_at = at;
        store_relaxed(&opening, *error == 0 ? bytes : 0);
        if (*error == 0 && !open_at(at, bytes)) {
            os_unmap((char *)window.base + at, bytes);
            *error = -ENOMEM;
        }
        if (*error == 0) {
            add_relaxed(&claimed, bytes);
            gap_note(end, at);
            huge_opened((char *)window.base + at, bytes, claimed, for_one);
            store_release(&window.granules, (at + bytes) / GRANULE);
            store_relaxed(&opening, 0);
            return at == 0 ? UNIT : at;
        }
        store_relaxed(&opening, 0);
        if (*error != -EEXIST)
            return 0;
    }
    return 0;
}

bool arena_limited(size_t more)
{
    uint64_t limit = load_relaxed(&config.limit);
    return unlikely(limit != 0) && load_relaxed(&claimed) + load_relaxed(&beside) + more > limit;
}

/* Our mappings are not counted against memory (MAP_NORESERVE), because free runs stay mapped. So
 * the kernel grants any size, where glibc's malloc gets ENOMEM for what exceeds memory and swap,
 * and programs that count on NULL would write until they are killed. A mapping that counts is made
 * to ask, and taken back at once. */
bool arena_grants(size_t more)
{
    if (likely(more <= memory))
        return true;
    uint64_t signals;
    os_signals_set(UINT64_MAX, &signals); /* a handler may jump out, and the mapping would stay */
    bool granted = os_overcommits(more);
    os_signals_set(signals, NULL);
    return granted;
}

void arena_beside(ptrdiff_t bytes)
{
    __atomic_fetch_add(&beside, (size_t)bytes, __ATOMIC_RELAXED);
}

uint32_t arena_claim(uint32_t wanted, uint32_t *got)
{
    size_t need = ((size_t)wanted + 1) << UNIT_SHIFT;
    size_t page = os_page_size() > UNIT ? os_page_size() : UNIT;
    need = (need + page - 1) & ~(page - 1);
    if (unlikely(refused_lately(&claim_refused, need)))
        return 0;
    int error = 0;
    uint64_t signals;
    os_signals_set(UINT64_MAX, &signals); /* a handler may jump out, and the piece would be lost */
    lock_take(&arena_lock);
    size_t roomy = window.granules * GRANULE / CLAIM_SHARE;
    roomy = roomy < CLAIM_FIRST ? CLAIM_FIRST : roomy > CLAIM_MAX ? CLAIM_MAX : roomy;
    bool for_one = need > roomy;
    roomy = (for_one ? need + CLAIM_FIRST - 1 : roomy) & ~(size_t)(CLAIM_FIRST - 1);
    size_t at = arena_limited(roomy) ? 0 : claim_locked(roomy, for_one, &error);
    if (at == 0 && roomy > need && !arena_limited(need))
        at = claim_locked(need, for_one, &error);
    size_t end = window.granules * GRANULE;
    if (at == 0)
        refuse(&claim_refused, need);
    lock_give(&arena_lock);
    os_signals_set(signals, NULL);
    if (at == 0)
        return 0;
    *got = (uint32_t)((end - at) >> UNIT_SHIFT);
    return (uint32_t)(at >> UNIT_SHIFT);
}

static bool refused_lately(const struct refusal *refusal, size_t bytes)
{
    uint64_t at_ms = load_acquire(&refusal->at_ms);
    return at_ms != 0 && bytes >= load_relaxed(&refusal->bytes) && at_ms == os_now_ms();
}

static void refuse(struct refusal *refusal, size_t bytes)
{
    store_relaxed(&refusal->bytes, bytes);
    store_release(&refusal->at_ms, os_now_ms());
}

static bool table_need(struct table *table, size_t bytes)
{
    if (bytes <= load_acquire(&table->mapped))
        return true;
    lock_take(&arena_lock);
    bool ok = table_grow(table, bytes);
    lock_give(&arena_lock);
    return ok;
}

bool arena_need_spans(size_t bytes)
{
    return table_need(&spans, bytes);
}

bool arena_need_meta(size_t bytes)
{
    if (bytes <= load_acquire(&meta.mapped))
        return true;
    if (refused_lately(&meta_refused, bytes))
        return false;
    bool ok = table_need(&meta, bytes);
    if (!ok)
        refuse(&meta_refused, bytes);
    return ok;
}

static void table_recover(struct table *table)
{
    if (table->growing > table->mapped)
        os_unmap(table->start + table->mapped, table->growing - table->mapped);
    table->growing = table->mapped;
}

void arena_recover(void)
{
    if (opening != 0 && window.granules * GRANULE <= opening_at)
        os_unmap((char *)window.base + opening_at, opening);
    opening = 0;
    for (unsigned i = 0; i < LIVE_TABLES; i++)
        table_recover(&live[i]);
    table_recover(&kinds);
    table_recover(&units);
    table_recover(&spans);
    table_recover(&meta);
}

size_t arena_claimed(void)
{
    return load_relaxed(&claimed);
}

size_t arena_mapped(void)
{
    size_t bytes = load_relaxed(&claimed) + load_relaxed(&kinds.mapped) +
                   load_relaxed(&units.mapped) + load_relaxed(&spans.mapped) +
                   load_relaxed(&meta.mapped);
    for (unsigned i = 0; i < LIVE_TABLES; i++)
        bytes += load_relaxed(&live[i].mapped);
    return bytes;
}

static size_t table_resident(const struct table *table, size_t parts_max)
{
    return os_resident(table->start, load_relaxed(&table->mapped), parts_max);
}

size_t arena_tables_resident(size_t parts_max)
{
    size_t bytes = table_resident(&kinds, parts_max) + table_resident(&units, parts_max) +
                   table_resident(&spans, parts_max) + table_resident(&meta, parts_max);
    for (unsigned i = 0; i < LIVE_TABLES; i++)
        bytes += table_resident(&live[i], parts_max);
    return bytes;
}

size_t arena_resident(size_t parts_max)
{
    return os_resident((void *)window.base, load_relaxed(&window.granules) * GRANULE, parts_max);
}
