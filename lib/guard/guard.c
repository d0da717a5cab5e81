/* SPDX-License-Identifier: MIT */
/*
 * See lib/guard/guard.h. Which blocks are guarded is decided once, at the start, from the options:
 * all of them, samples, those that are larger than a page (with `debug`), or some at even
 * distances. The rest is what a call that found an error does: the stack, the report, the end.
 */
#include "lib/guard/guard.h"

#include "base/config.h"
#include "base/message.h"
#include "base/os.h"
#include "lib/watch/watch.h"

/* Addresses only, each block a page or more and its guard page: 100 million blocks, and the
 * 64 MiB of samples 16 times over. */
static const size_t REGION_ALL = (size_t)1 << 40, REGION_SAMPLED = (size_t)1 << 30;
enum { SAMPLED_BYTES = 64 << 20 }; /* pages of live blocks, and addresses of freed ones */

bool guard_all, guard_sampled, guard_debug, guard_fences, guard_calls, guard_spaced;
uint64_t guard_spans_every, guard_large_every;
struct guard_counted guard_counted;

static size_t min(size_t one, size_t other);
static size_t tables_resident(size_t parts_max);
static void stacks_allow(void);
static void complain(struct guard_report *report, const struct caller *caller);

void guard_init(bool scanned)
{
    static const char none[] =
        "memoir: guard: off: the system gives no addresses for it; raise ulimit -v\n";
    guard_debug = config.debug;
    bool all = config.guard == CONFIG_GUARD_FULL, fences = guard_debug && !all && !scanned;
    guard_calls = guard_debug || all;
    if (guard_calls)
        stacks_allow();
    bool spaced = (guard_spans_every | guard_large_every | guard_counted.every) != 0 && !scanned;
    if (config.guard == CONFIG_GUARD_OFF && !fences && !spaced)
        return;
    bool many = all || fences || spaced;
    size_t max = many ? os_memory_size() / 2 : SAMPLED_BYTES;
    struct cells_limits limits = {.region_bytes = many ? REGION_ALL : REGION_SAMPLED,
                                  .live_bytes = min(config.guard_memory, max),
                                  .quarantine_bytes = config.guard_quarantine,
                                  .tight = config.guard_tight,
                                  .front = config.guard_front,
                                  .silent = !all};
    if (!many)
        limits.quarantine_bytes = min(limits.quarantine_bytes, SAMPLED_BYTES);
    bool fine = cells_init(&limits);
    if (fine)
        account_add_apart(&(struct account_apart){cells_resident, tables_resident});
    if (!fine && all)
        message_write(none, sizeof none - 1);
    guard_all = fine && all;
    guard_fences = fine && fences;
    guard_sampled = fine && config.guard == CONFIG_GUARD_SAMPLED;
    guard_spaced = fine && spaced && !guard_calls;
    guard_calls = guard_debug || guard_all;
}

static size_t tables_resident(size_t parts_max)
{
    return cells_table_resident(parts_max) + debug_queue_resident(parts_max);
}

/* Each call of every block has a stack that a report may name, where a profile has those of
 * samples: more of them are kept, unless the option says how many. */
static void stacks_allow(void)
{
    /* g++ and python's tests reach the 64 MiB of a profile. */
    enum { USUAL = 64 << 20, MANY = 512 << 20, SHARE = 16 };
    size_t share = os_memory_size() / SHARE;
    if (config.heap_memory == USUAL && share > USUAL)
        config.heap_memory = min(MANY, share);
}

static size_t min(size_t one, size_t other)
{
    return one < other ? one : other;
}

bool guard_picks(void)
{
    static uint32_t picked;
    return __atomic_fetch_add(&picked, 1, __ATOMIC_RELAXED) % config.guard_rate == 0;
}

/* No thread counts for itself: the odds of all are the same. */
bool guard_is_due(size_t size, bool large, uint64_t spans)
{
    static uint64_t taken, seen, counted;
    if (guard_counted.every != 0 && size >= guard_counted.min && size <= guard_counted.max &&
        __atomic_fetch_add(&counted, 1, __ATOMIC_RELAXED) % guard_counted.every ==
            guard_counted.first)
        return true;
    if (large)
        return guard_large_every != 0 &&
               (__atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED) + 1) % guard_large_every == 0;
    uint64_t last = load_relaxed(&seen);
    return guard_spans_every != 0 && spans - last >= guard_spans_every &&
           __atomic_compare_exchange_n(&seen, &last, spans, false, __ATOMIC_RELAXED,
                                       __ATOMIC_RELAXED);
}

static bool has_cells(void)
{
    return guard_all || guard_sampled || guard_fences || guard_spaced;
}

void guard_faults(void)
{
    if (has_cells())
        fault_init();
}

void guard_complain(enum guard_error error, uintptr_t address, const struct cell *cell,
                    const char *call, const struct caller *caller, size_t size)
{
    struct guard_report report = {.error = error,
                                  .address = address,
                                  .wrote = error == GUARD_DAMAGE ? 1 : -1,
                                  .cell = cell,
                                  .call = call,
                                  .family = caller == NULL ? FAMILY_MALLOC : caller->family,
                                  .size = size,
                                  .thread = (uint32_t)os_tid()};
    complain(&report, caller);
}

void guard_complain_written(const struct debug_entry *entry, const char *address,
                            const struct caller *caller)
{
    struct cell cell = {.start = (uintptr_t)entry->p,
                        .size = entry->size,
                        .state = CELL_FREED,
                        .family = (uint8_t)entry->family,
                        .born = entry->born,
                        .died = entry->died};
    struct guard_report report = {.error = GUARD_WRITTEN,
                                  .address = (uintptr_t)address,
                                  .wrote = 1,
                                  .cell = &cell,
                                  .place = entry->place,
                                  .thread = (uint32_t)os_tid()};
    complain(&report, caller);
}

/* The rest of both: the stack of the caller, and what follows. */
static void complain(struct guard_report *report, const struct caller *caller)
{
    static const struct own_stack nothing;
    struct walk *walk = caller == NULL ? NULL : walks_take(WALKS_UNOWNED, &nothing);
    if (walk != NULL)
        unwind(walk, caller, config.heap_depth);
    report->now = walk;
    bool counts = report_make(report);
    if (walk != NULL)
        walks_give(walk);
    if (counts && config.guard_action != CONFIG_GUARD_IGNORE)
        os_abort();
}

/* Claimed meanwhile, so that no other thread takes the pages away. */
static void look(void *context, struct cell *cell)
{
    if (!cells_claim(cell))
        return;
    const uint8_t *damage = cells_damage(cell);
    if (damage != NULL)
        guard_complain(GUARD_DAMAGE, (uintptr_t)damage, cell, "exit", context, 0);
    store_release(&cell->state, CELL_LIVE);
}

void guard_verify_cells(const struct caller *caller)
{
    if (has_cells())
        cells_each(look, (void *)caller);
}

void guard_exit(void)
{
    if (!guard_debug || config.debug_at_exit)
        guard_verify_cells(NULL);
}
