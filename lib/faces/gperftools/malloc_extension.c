/* SPDX-License-Identifier: MIT */
/*
 * gperftools' MallocExtension in its C form, and the table of MALLOCSTATS. The words are
 * tcmalloc's; where our allocator has no counterpart (transfer caches, unmapped spans) the number
 * is 0.
 */
#include <string.h>

#include "base/compiler.h"
#include "base/config.h"
#include "base/os.h"
#include "lib/alloc/alloc.h"
#include "lib/api/api.h"
#include "lib/faces/gperftools/gperftools.h"
#include "lib/faces/jemalloc/jemalloc_alloc.h"

enum ownership { OWNERSHIP_UNKNOWN, OWNERSHIP_OURS, OWNERSHIP_OTHERS };

int MallocExtension_VerifyAllMemory(void);
int MallocExtension_VerifyNewMemory(const void *p);
int MallocExtension_VerifyArrayNewMemory(const void *p);
int MallocExtension_VerifyMallocMemory(const void *p);
int MallocExtension_MallocMemoryStats(int *blocks, size_t *total, int histogram[64]);
void MallocExtension_GetStats(char *buffer, int length);
int MallocExtension_GetNumericProperty(const char *name, size_t *value);
int MallocExtension_SetNumericProperty(const char *name, size_t value);
void MallocExtension_MarkThreadIdle(void);
void MallocExtension_MarkThreadBusy(void);
void MallocExtension_MarkThreadTemporarilyIdle(void);
void MallocExtension_ReleaseToSystem(size_t bytes);
void MallocExtension_ReleaseFreeMemory(void);
void MallocExtension_SetMemoryReleaseRate(double rate);
double MallocExtension_GetMemoryReleaseRate(void);
size_t MallocExtension_GetEstimatedAllocatedSize(size_t size);
size_t MallocExtension_GetAllocatedSize(const void *p);
size_t MallocExtension_GetThreadCacheSize(void);
enum ownership MallocExtension_GetOwnership(const void *p);

/* Properties and where their values come from. */
struct properties {
    size_t allocated, heap, physical, slack, central, thread, page_free, committed; /* counted */
    size_t zero, cache_max, sample;
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
    PROPERTY("tcmalloc.pageheap_unmapped_bytes", zero),
    PROPERTY("tcmalloc.pageheap_committed_bytes", committed),
    PROPERTY("tcmalloc.pageheap_scavenge_count", zero),
    PROPERTY("tcmalloc.pageheap_commit_count", zero),
    PROPERTY("tcmalloc.pageheap_total_commit_bytes", zero),
    PROPERTY("tcmalloc.pageheap_decommit_count", zero),
    PROPERTY("tcmalloc.pageheap_total_decommit_bytes", zero),
    PROPERTY("tcmalloc.pageheap_reserve_count", zero),
    PROPERTY("tcmalloc.pageheap_total_reserve_bytes", zero),
    PROPERTY("tcmalloc.max_total_thread_cache_bytes", cache_max),
    PROPERTY("tcmalloc.min_per_thread_cache_bytes", zero),
    PROPERTY("tcmalloc.aggressive_memory_decommit", zero),
    PROPERTY("tcmalloc.heap_limit_mb", zero),
    PROPERTY("tcmalloc.sample_parameter", sample),
    PROPERTY("tcmalloc.impl.thread_cache_count", zero),
};

static size_t cache_max = 32 << 20;
static const size_t *property_find(const char *name, struct properties *values);
static void properties_count(struct properties *values);

/* Fresh numbers, as in gperftools: its callers have no epoch to write. */
EXPORT int MallocExtension_GetNumericProperty(const char *name, size_t *value)
{
    struct properties values = {0};
    const size_t *found = property_find(name, &values);
    if (found == NULL || !init_done())
        return 0;
    int64_t rate = control_active() ? control_rate() : 0;
    if (found < &values.zero)
        properties_count(&values);
    values.cache_max = load_relaxed(&cache_max);
    values.sample = (size_t)rate;
    *value = *found;
    return 1;
}

EXPORT int MallocExtension_SetNumericProperty(const char *name, size_t value)
{
    if (!init_done())
        return 0;
    if (strcmp(name, "tcmalloc.max_total_thread_cache_bytes") == 0) {
        store_relaxed(&cache_max, value);
        return 1;
    }
    if (strcmp(name, "tcmalloc.sample_parameter") == 0) {
        if (value == 0)
            control_stop();
        else
            control_start(value > INT64_MAX ? INT64_MAX : (int64_t)value);
        return 1;
    }
    return strcmp(name, "tcmalloc.aggressive_memory_decommit") == 0 ||
           strcmp(name, "tcmalloc.heap_limit_mb") == 0 ||
           strcmp(name, "tcmalloc.min_per_thread_cache_bytes") == 0;
}

/* what the program set; without effect */

static const size_t *property_find(const char *name, struct properties *values)
{
    for (size_t i = 0; i < COUNT_OF(property_rows); i++)
        if (strcmp(name, property_rows[i].name) == 0)
            return (const size_t *)((const char *)values + property_rows[i].offset);
    return NULL;
}

static void properties_count(struct properties *values)
{
    struct account account;
    account_take(&account);
    values->allocated = account.live_bytes;
    values->page_free = values->slack = account.dirty_bytes;
    values->central = account.fragmented_bytes;
    values->thread = account.cached_bytes;
    values->heap = values->committed =
        account.live_bytes + account.dirty_bytes + account.fragmented_bytes + account.cached_bytes;
    values->physical = account.resident_bytes;
}

static void row(struct print *out, const char *start, uint64_t bytes, const char *what)
{
    print_text(out, start);
    size_t from = print_length(out);
    print_unsigned(out, bytes);
    print_right(out, from, 12);
    print_text(out, " (");
    from = print_length(out);
    print_decimal(out, (bytes * 10 + (1 << 19)) >> 20, 1);
    print_right(out, from, 7);
    print_format(out, " MiB) %s\n", what);
}

static void count(struct print *out, uint64_t value, const char *what)
{
    print_text(out, "MALLOC:   ");
    size_t from = print_length(out);
    print_unsigned(out, value);
    print_right(out, from, 12);
    print_format(out, "              %s\n", what);
}

void gperftools_stats(struct print *out)
{
    static const char line[] = "------------------------------------------------\n";
    static const char sum[] = "MALLOC:   ------------\n";
    struct account a;
    account_take(&a);
    uint64_t used =
        a.live_bytes + a.dirty_bytes + a.fragmented_bytes + a.cached_bytes + a.metadata_bytes;
    print_text(out, line);
    row(out, "MALLOC:   ", a.live_bytes, "Bytes in use by application");
    row(out, "MALLOC: + ", a.dirty_bytes, "Bytes in page heap freelist");
    row(out, "MALLOC: + ", a.fragmented_bytes, "Bytes in central cache freelist");
    row(out, "MALLOC: + ", 0, "Bytes in transfer cache freelist");
    row(out, "MALLOC: + ", a.cached_bytes, "Bytes in thread cache freelists");
    row(out, "MALLOC: + ", a.metadata_bytes, "Bytes in malloc metadata");
    print_text(out, sum);
    row(out, "MALLOC: = ", used, "Actual memory used (physical + swap)");
    row(out, "MALLOC: + ", 0, "Bytes released to OS (aka unmapped)");
    print_text(out, sum);
    row(out, "MALLOC: = ", used, "Virtual address space used");
    print_text(out, "MALLOC:\n");
    count(out, used / UNIT, "Spans in use");
    count(out, a.heaps, "Thread heaps in use");
    count(out, UNIT, "Tcmalloc page size");
    print_text(out, line);
    print_text(out,
               "Call ReleaseFreeMemory() to release freelist memory to the OS (via madvise()).\n"
               "Bytes released to the OS take up virtual address space but no physical "
               "memory.\n");
}

EXPORT void MallocExtension_GetStats(char *buffer, int length)
{
    if (length <= 0)
        return;
    struct print out;
    print_start(&out, buffer, (size_t)length);
    if (init_done())
        gperftools_stats(&out);
    print_string(&out);
}

/* Our checks are made at every call; there is nothing more to verify. */
EXPORT int MallocExtension_VerifyAllMemory(void)
{
    return 1;
}

EXPORT int MallocExtension_VerifyNewMemory(const void *p)
{
    (void)p;
    return 1;
}

EXPORT int MallocExtension_VerifyArrayNewMemory(const void *p)
{
    (void)p;
    return 1;
}

EXPORT int MallocExtension_VerifyMallocMemory(const void *p)
{
    (void)p;
    return 1;
}

EXPORT int MallocExtension_MallocMemoryStats(int *blocks, size_t *total, int histogram[64])
{
    *blocks = 0;
    *total = 0;
    memset(histogram, 0, 64 * sizeof *histogram);
    if (!init_done())
        return 1;
    struct account account;
    account_take(&account);
    *blocks = account.live_blocks > INT32_MAX ? INT32_MAX : (int)account.live_blocks;
    *total = account.live_bytes;
    return 1;
}

EXPORT void MallocExtension_MarkThreadIdle(void)
{
    cold_flush();
}

EXPORT void MallocExtension_MarkThreadTemporarilyIdle(void)
{
    cold_flush();
}

EXPORT void MallocExtension_MarkThreadBusy(void)
{
}

EXPORT void MallocExtension_ReleaseToSystem(size_t bytes)
{
    if (bytes > 0)
        cold_trim();
}

EXPORT void MallocExtension_ReleaseFreeMemory(void)
{
    cold_trim();
}

/* Memory goes back after return.delay, whatever the rate. */
static double release_rate = 1;

EXPORT void MallocExtension_SetMemoryReleaseRate(double rate)
{
    release_rate = rate;
}

EXPORT double MallocExtension_GetMemoryReleaseRate(void)
{
    return release_rate;
}

EXPORT size_t MallocExtension_GetEstimatedAllocatedSize(size_t size)
{
    return nallocx(size, 0);
}

EXPORT size_t MallocExtension_GetAllocatedSize(const void *p)
{
    return malloc_usable_size((void *)p);
}

EXPORT size_t MallocExtension_GetThreadCacheSize(void)
{
    return 0;
}

EXPORT enum ownership MallocExtension_GetOwnership(const void *p)
{
    if (!init_done())
        return OWNERSHIP_UNKNOWN;
    return window_has(p) || outside_size(p) != 0 ? OWNERSHIP_OURS : OWNERSHIP_OTHERS;
}
