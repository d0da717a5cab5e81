/* SPDX-License-Identifier: MIT */
/*
 * See mmap_profile.h. Mappings of libc itself are not seen, as in gperftools.
 *
 * Regions lie in a table without a lock: a row is claimed, filled, and claimed again by the thread
 * that unmaps it. If a region is unmapped in part, the rest becomes a new region of the unmapping
 * caller.
 */
#include "lib/faces/gperftools/mmap_profile.h"

#include <stdarg.h>

#include "base/compiler.h"
#include "base/message.h"
#include "base/os.h"
#include "lib/alloc/alloc.h"
#include "lib/api/api.h"
#include "lib/control/control.h"
#include "lib/heap/observer.h"
#include "lib/watch/watch.h"

/* Mappings at a time; further ones are not recorded. A process may have 65,530, few have hundreds,
 * and all are looked through at each munmap. */
enum { REGIONS = 8192 };
enum { FREE, BUSY, USED };

struct region {
    uintptr_t start, end;
    struct record record;
    uint32_t state;
};

static struct region *regions;
static bool recorded, log_calls;

static void region_add(uintptr_t start, uintptr_t end, const struct caller *caller);
static void region_remove(uintptr_t start, uintptr_t end, const struct caller *caller);

void mmap_profile_start(bool record, bool only, bool log)
{
    log_calls = log;
    recorded = record;
    regions = os_map(REGIONS * sizeof *regions);
    if (regions != NULL && only) {
        track_set_threads_active(false);
        control_reset(); /* what constructors of libraries have allocated by now */
    }
}

void mmap_profile_mapped(uintptr_t start, uintptr_t end, const struct caller *caller)
{
    if (regions != NULL)
        region_add(start, end, caller);
}

void mmap_profile_unmapped(uintptr_t start, uintptr_t end, const struct caller *caller)
{
    if (regions != NULL)
        region_remove(start, end, caller);
}

void mmap_profile_say(const char *format, ...)
{
    va_list list;
    if (!log_calls)
        return;
    va_start(list, format);
    message_list(format, list);
    va_end(list);
}

static bool claim(struct region *region, uint32_t from)
{
    return load_relaxed(&region->state) == from &&
           __atomic_compare_exchange_n(&region->state, &from, BUSY, false, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED);
}

static void record_begin(struct record *record, size_t size, const struct caller *caller)
{
    record->site = 0;
    if (!cold_begin(NULL))
        return;
    track_begin(record, caller, CLASS_COUNT, size, size, 0, SAMPLER_EXACT_NUMBER);
    cold_end();
}

static void record_end(struct record *record, size_t size, const struct caller *caller)
{
    if (!cold_begin(NULL))
        return;
    track_end(record, caller, size, size, false);
    cold_end();
}

static void region_add(uintptr_t start, uintptr_t end, const struct caller *caller)
{
    struct region *region = regions;
    if (!recorded || start >= end)
        return;
    while (region < regions + REGIONS && !claim(region, FREE))
        region++;
    if (region == regions + REGIONS)
        return;
    region->start = start;
    region->end = end;
    bool active = track_thread_active();
    track_set_thread_active(true);
    record_begin(&region->record, end - start, caller);
    track_set_thread_active(active);
    store_release(&region->state, USED);
}

static void region_remove(uintptr_t start, uintptr_t end, const struct caller *caller)
{
    for (struct region *region = regions; region < regions + REGIONS; region++) {
        if (!claim(region, USED))
            continue;
        uintptr_t from = region->start, to = region->end;
        if (from >= end || to <= start) {
            store_release(&region->state, USED);
            continue;
        }
        record_end(&region->record, to - from, caller);
        store_release(&region->state, FREE);
        if (from < start)
            region_add(from, start, caller);
        if (to > end)
            region_add(end, to, caller);
    }
}
