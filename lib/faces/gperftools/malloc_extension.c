/* SPDX-License-Identifier: MIT */
/*
 * gperftools' MallocExtension in its C form. The words are tcmalloc's; where our allocator has no
 * counterpart (transfer caches) the number is 0. Unmapped is what the heap has in addresses without
 * memory.
 */
#include <string.h>

#include "base/compiler.h"
#include "base/config.h"
#include "base/os.h"
#include "lib/alloc/alloc.h"
#include "lib/api/api.h"
#include "lib/control/control.h"
#include "lib/faces/gperftools/debug_allocator.h"
#include "lib/faces/gperftools/gperftools.h"
#include "lib/faces/gperftools/malloc_extension.h"
#include "lib/faces/gperftools/testing_portal.h"
#include "lib/faces/jemalloc/jemalloc_alloc.h"
#include "lib/heap/observer.h"

/* What tcmalloc allows the caches of all threads unless told otherwise. */
enum { CACHE_TOTAL_THEIRS = 32 << 20 };

/* Properties and where their values come from. */
struct properties {
    size_t allocated, heap, physical, slack, central, thread, page_free, committed; /* counted */
    size_t unmapped, returned, returns, taken, mapped, growths, threads;
    size_t zero, cache_max, limit_mb, at_once, sample;
};

#define PROPERTY(name, field)                    \
    {                                            \
        name, offsetof(struct properties, field) \
    }
static const struct {
    const char *name;
    size_t offset;
} property_rows[] = {
    PROPERTY("generic.current_allocated_bytes", allocated),
    PROPERTY("generic.heap_size", heap),
    PROPERTY("generic.total_physical_bytes", physical),
    PROPERTY("tcmalloc.slack_bytes", slack),
    PROPERTY("tcmalloc.central_cache_free_bytes", central),
    PROPERTY("tcmalloc.transfer_cache_free_bytes", zero),
    PROPERTY("tcmalloc.thread_cache_free_bytes", thread),
    PROPERTY("tcmalloc.current_total_thread_cache_bytes", thread),
    PROPERTY("tcmalloc.pageheap_free_bytes", page_free),
    PROPERTY("tcmalloc.pageheap_unmapped_bytes", unmapped),
    PROPERTY("tcmalloc.pageheap_committed_bytes", committed),
    PROPERTY("tcmalloc.pageheap_scavenge_count", zero),
    PROPERTY("tcmalloc.pageheap_commit_count", growths),
    PROPERTY("tcmalloc.pageheap_total_commit_bytes", taken),
    PROPERTY("tcmalloc.pageheap_decommit_count", returns),
    PROPERTY("tcmalloc.pageheap_total_decommit_bytes", returned),
    PROPERTY("tcmalloc.pageheap_reserve_count", growths),
    PROPERTY("tcmalloc.pageheap_total_reserve_bytes", mapped),
    PROPERTY("tcmalloc.max_total_thread_cache_bytes", cache_max),
    PROPERTY("tcmalloc.min_per_thread_cache_bytes", zero),
    PROPERTY("tcmalloc.aggressive_memory_decommit", at_once),
    PROPERTY("tcmalloc.heap_limit_mb", limit_mb),
    PROPERTY("tcmalloc.sample_parameter", sample),
    PROPERTY("tcmalloc.impl.thread_cache_count", threads),
};

static const size_t *property_find(const char *name, struct properties *values);
static void properties_count(struct properties *values);

/* Fresh numbers, as in gperftools: its callers have no epoch to write. */
EXPORT int MallocExtension_GetNumericProperty(const char *name, size_t *value)
{
    struct properties values = {0};
    const size_t *found = property_find(name, &values);
    if (!init_done())
        return 0;
    if (found == NULL)
        return testing_portal_get(name, value);
    testing_portal_apply();
    int64_t rate = control_active() ? control_rate() : 0;
    if (found < &values.zero)
        properties_count(&values);
    uint64_t total = load_relaxed(&config.cache_total);
    values.cache_max = total == 0 ? CACHE_TOTAL_THEIRS : total;
    values.limit_mb = load_relaxed(&config.limit) >> 20;
    values.at_once = load_relaxed(&config.return_delay_ms) == 0;
    values.sample = (size_t)rate;
    *value = *found;
    return 1;
}

EXPORT int MallocExtension_SetNumericProperty(const char *name, size_t value)
{
    if (!init_done())
        return 0;
    if (strcmp(name, "tcmalloc.max_total_thread_cache_bytes") == 0) {
        store_relaxed(&config.cache_total, gperftools_cache_bytes(value));
        return 1;
    }
    if (strcmp(name, "tcmalloc.heap_limit_mb") == 0) {
        store_relaxed(&config.limit, (uint64_t)value << 20);
        return 1;
    }
    if (strcmp(name, "tcmalloc.aggressive_memory_decommit") == 0) {
        store_relaxed(&config.return_delay_ms, value != 0 ? 0 : gperftools_delay_ms(1000));
        return 1;
    }
    if (strcmp(name, "tcmalloc.sample_parameter") == 0) {
        if (value == 0)
            control_stop();
        else
            control_start(value > INT64_MAX ? INT64_MAX : (int64_t)value);
        return 1;
    }
    return strcmp(name, "tcmalloc.min_per_thread_cache_bytes") == 0; /* as small as can be */
}

static const size_t *property_find(const char *name, struct properties *values)
{
    for (size_t i = 0; i < COUNT_OF(property_rows); i++)
        if (strcmp(name, property_rows[i].name) == 0)
            return (const size_t *)((const char *)values + property_rows[i].offset);
    return NULL;
}

static void add_growth(void *context, const struct growth *growth)
{
    *(size_t *)context += growth->times;
}

static void properties_count(struct properties *values)
{
    struct account account;
    account_take(&account);
    values->allocated = account.live_bytes;
    values->page_free = account.dirty_bytes;
    values->unmapped = account.clean_bytes;
    values->slack = account.dirty_bytes + account.clean_bytes;
    values->central = account.fragmented_bytes;
    values->thread = account.cached_bytes;
    values->committed =
        account.live_bytes + account.dirty_bytes + account.fragmented_bytes + account.cached_bytes;
    values->heap = values->committed + account.clean_bytes;
    values->returned = account.returned_bytes;
    values->taken = values->committed + account.returned_bytes;
    values->mapped = account.mapped_bytes;
    values->growths = 1; /* the first piece, which no call is known of */
    growth_each(add_growth, &values->growths);
    for (unsigned pool = 0; pool < POOL_MAX; pool++)
        values->returns += load_relaxed(&pages_of[pool].returns);
    values->threads = account.heaps;
    values->physical = account.resident_bytes;
}

EXPORT void MallocExtension_GetStats(char *buffer, int length)
{
    if (length <= 0)
        return;
    struct print out;
    print_start(&out, buffer, (size_t)length);
    if (init_done())
        gperftools_stats(&out, 2);
    print_string(&out);
}

EXPORT int MallocExtension_MallocMemoryStats(int *blocks, size_t *total,
                                             int histogram[MALLOC_HISTOGRAM_SIZE])
{
    *blocks = 0;
    *total = 0;
    memset(histogram, 0, MALLOC_HISTOGRAM_SIZE * sizeof *histogram);
    if (!init_done() || debug_allocator_histogram(blocks, total, histogram))
        return 1;
    struct account account;
    account_take(&account);
    *blocks = account.live_blocks > INT32_MAX ? INT32_MAX : (int)account.live_blocks;
    *total = account.live_bytes;
    return 1;
}

EXPORT void MallocExtension_MarkThreadIdle(void)
{
    testing_portal_apply();
    cold_flush();
}

EXPORT void MallocExtension_MarkThreadTemporarilyIdle(void)
{
    cold_flush();
}

EXPORT void MallocExtension_MarkThreadBusy(void)
{
}

/* Whole runs go back; what was too much is less next time. */
static size_t ahead;

EXPORT void MallocExtension_ReleaseToSystem(size_t bytes)
{
    testing_portal_apply();
    size_t before = load_relaxed(&ahead);
    size_t wanted = bytes > before ? bytes - before : 0;
    size_t got = wanted > 0 ? cold_release(wanted) : 0;
    size_t over = got > wanted ? got - wanted : 0;
    store_relaxed(&ahead, wanted > 0 ? over : before - bytes);
}

EXPORT void MallocExtension_ReleaseFreeMemory(void)
{
    testing_portal_apply();
    cold_trim();
    store_relaxed(&ahead, 0);
}

static double release_rate = 1;

EXPORT void MallocExtension_SetMemoryReleaseRate(double rate)
{
    release_rate = rate;
    uint64_t thousandths = rate <= 0 ? 0 : rate >= 10 ? 10000 : (uint64_t)(rate * 1000);
    store_relaxed(&config.return_delay_ms, gperftools_delay_ms(thousandths));
}

EXPORT double MallocExtension_GetMemoryReleaseRate(void)
{
    return release_rate;
}

EXPORT size_t MallocExtension_GetEstimatedAllocatedSize(size_t size)
{
    return size == 0 && debugging_is_on() ? 0 : nallocx(size, 0);
}

EXPORT size_t MallocExtension_GetAllocatedSize(const void *p)
{
    return malloc_usable_size((void *)p);
}

EXPORT size_t MallocExtension_GetThreadCacheSize(void)
{
    size_t bytes = 0;
    const struct heap *heap = heap_self;
    for (unsigned mark = 1; heap != NULL && mark < MARK_COUNT; mark++)
        if (heap_stock(heap, mark) != NULL)
            bytes +=
                (heap_cached(heap, mark) + spare_count(heap, mark)) * class_size(mark_class(mark));
    return bytes;
}

EXPORT enum ownership MallocExtension_GetOwnership(const void *p)
{
    if (!init_done())
        return OWNERSHIP_UNKNOWN;
    return cold_owns(p) ? OWNERSHIP_OURS : OWNERSHIP_OTHERS;
}
