/* SPDX-License-Identifier: MIT */
/*
 * malloc_stats_print with the letter J: the keys of an arena and of locks, in jemalloc's order.
 * What memoir has none of (muzzy pages, a huge page allocator) is there and 0, for readers that
 * take the keys for granted.
 */
#include <string.h>

#include "lib/faces/jemalloc/jemalloc_stats_sections.h"
#include "lib/faces/jemalloc/mallctl.h"

/* For the words of mutexes and of the huge page allocator. */
#define NODE(...)
#include "lib/faces/jemalloc/mallctl.def"
#undef NODE

enum { HPA_LISTS = 64 }; /* of slabs by their number of free pages */

static void mutex(struct report *report, const char *start, const char *name);

void json_mutexes(struct report *report, const char *start, const char *words)
{
    char buffer[32];
    struct print word;
    object_open(report, "mutexes");
    print_start(&word, buffer, sizeof buffer);
    while (stats_word(&words, &word)) {
        mutex(report, start, print_string(&word));
        print_start(&word, buffer, sizeof buffer);
    }
    object_close(report);
}

static void mutex(struct report *report, const char *start, const char *name)
{
    char whole[80];
    struct print text;
    print_start(&text, whole, sizeof whole);
    print_format(&text, "%s%s.", start, name);
    const char *prefix = print_string(&text);
    object_open(report, name);
    for (size_t i = 0; i < MUTEX_COUNTERS; i++)
        number(report, "", mutex_counters[i], stats_ask(prefix, mutex_counters[i]));
    object_close(report);
}

static void sums(struct report *report, const char *name, uint64_t allocated, uint64_t allocs,
                 uint64_t frees, uint64_t fills, uint64_t flushes)
{
    object_open(report, name);
    number(report, "", "allocated", allocated);
    number(report, "", "nmalloc", allocs);
    number(report, "", "ndalloc", frees);
    number(report, "", "nrequests", allocs);
    number(report, "", "nfills", fills);
    number(report, "", "nflushes", flushes);
    object_close(report);
}

/* An array of objects: `at` counts them. */
static void element_open(struct report *report, unsigned at)
{
    print_text(next(report), at == 0 ? "{" : ",{");
    report->first = true;
}

/* `start`: of the names of the arena. */
static void bins(struct report *report, size_t arena, const char *start,
                 const struct figures *figures, bool mutexes)
{
    uint64_t nonfull[CLASS_COUNT];
    figures_nonfull(arena, nonfull);
    print_text(key(report, "", "bins"), "[");
    for (unsigned class = 1; class < CLASS_COUNT; class ++) {
        struct figures_class sum = figures->classes[class];
        char whole[64];
        struct print text;
        print_start(&text, whole, sizeof whole);
        print_format(&text, "%sbins.%u.", start, class - 1);
        element_open(report, class - 1);
        number(report, "", "nmalloc", sum.allocs);
        number(report, "", "ndalloc", sum.frees);
        number(report, "", "curregs", sum.allocs - sum.frees);
        number(report, "", "nrequests", sum.allocs);
        number(report, "", "nfills", sum.fills);
        number(report, "", "nflushes", sum.flushes);
        number(report, "", "nreslabs", 0);
        number(report, "", "curslabs", sum.spans);
        number(report, "", "nonfull_slabs", nonfull[class]);
        if (mutexes)
            mutex(report, print_string(&text), "mutex");
        print_text(next(report), "}");
    }
    print_text(next(report), "]");
    report->first = false;
}

static void large(struct report *report, const struct figures *figures)
{
    print_text(key(report, "", "lextents"), "[");
    for (unsigned i = 0; i < LARGE_SIZES; i++) {
        struct large_count sum = figures->large[i];
        print_format(next(report), "%s{\"curlextents\":%lu}", i == 0 ? "" : ",",
                     sum.allocs > sum.frees ? sum.allocs - sum.frees : 0);
    }
    print_text(next(report), "]");
}

static void extents(struct report *report, size_t arena)
{
    struct extent_counts counts;
    figures_extents(arena, &counts);
    print_text(key(report, "", "extents"), "[");
    for (unsigned i = 0; i < EXTENT_SIZES; i++) {
        element_open(report, i);
        number(report, "", "ndirty", counts.dirty[i].runs);
        number(report, "", "nmuzzy", 0);
        number(report, "", "nretained", counts.retained[i].runs);
        number(report, "", "dirty_bytes", counts.dirty[i].bytes);
        number(report, "", "muzzy_bytes", 0);
        number(report, "", "retained_bytes", counts.retained[i].bytes);
        print_text(next(report), "}");
    }
    print_text(next(report), "]");
    report->first = false;
}

static void zeroes(struct report *report, const char *words)
{
    char buffer[32];
    struct print word;
    print_start(&word, buffer, sizeof buffer);
    while (stats_word(&words, &word)) {
        number(report, "", print_string(&word), 0);
        print_start(&word, buffer, sizeof buffer);
    }
}

static void huge_pages(struct report *report)
{
    static const char *const slabs[] = {"full_slabs", "empty_slabs"};
    number(report, "", "sec_bytes", 0);
    object_open(report, "hpa_shard");
    zeroes(report, HPA_COUNTERS);
    for (size_t i = 0; i < COUNT_OF(slabs); i++) {
        object_open(report, slabs[i]);
        zeroes(report, HPA_SLABS);
        object_close(report);
    }
    print_text(key(report, "", "nonfull_slabs"), "[");
    for (unsigned i = 0; i < HPA_LISTS; i++) {
        element_open(report, i);
        zeroes(report, HPA_SLABS);
        print_text(next(report), "}");
    }
    print_text(next(report), "]");
    object_close(report);
}

/* What stands in the report as mallctl tells it. */
static void answers(struct report *report, const char *start)
{
    static const char *const names[] = {"tcache_bytes", "tcache_stashed_bytes", "internal",
                                        "metadata_thp", "abandoned_vm",         "extent_avail",
                                        "dirty_npurge", "dirty_nmadvise",       "dirty_purged",
                                        "muzzy_npurge", "muzzy_nmadvise",       "muzzy_purged"};
    number(report, "", "uptime_ns", stats_ask(start, "uptime"));
    const char *dss = (const char *)stats_ask(start, "dss");
    key(report, "", "dss");
    quoted(report, dss == NULL ? "disabled" : dss);
    print_signed(key(report, "", "dirty_decay_ms"), (int64_t)stats_ask(start, "dirty_decay_ms"));
    print_signed(key(report, "", "muzzy_decay_ms"), (int64_t)stats_ask(start, "muzzy_decay_ms"));
    for (size_t i = 0; i < COUNT_OF(names); i++)
        number(report, "", names[i], stats_ask(start, names[i]));
}

void json_arena(struct report *report, size_t arena, const struct figures *figures,
                const char *options)
{
    char digits[24], whole[48];
    struct print name, start;
    print_start(&name, digits, sizeof digits);
    print_unsigned(&name, arena);
    object_open(report, arena == MALLCTL_ALL         ? "merged"
                        : arena == MALLCTL_DESTROYED ? "destroyed"
                                                     : print_string(&name));
    number(report, "", "nthreads", figures->threads);
    number(report, "", "pactive", figures->pages_active);
    number(report, "", "pdirty", figures->pages_dirty);
    number(report, "", "pmuzzy", 0);
    sums(report, "small", figures->small_allocated, figures->small_allocs, figures->small_frees,
         figures->small_fills, figures->small_flushes);
    sums(report, "large", figures->large_allocated, figures->large_allocs, figures->large_frees, 0,
         0);
    number(report, "", "mapped", figures->mapped);
    number(report, "", "retained", figures->retained);
    number(report, "", "base", figures->metadata);
    number(report, "", "resident", figures->resident);
    print_start(&start, whole, sizeof whole);
    print_format(&start, "stats.arenas.%zu.", arena);
    answers(report, print_string(&start));
    bool mutexes = strchr(options, 'x') == NULL;
    if (mutexes)
        json_mutexes(report, whole, ARENA_MUTEXES);
    if (strchr(options, 'b') == NULL)
        bins(report, arena, whole, figures, mutexes);
    if (strchr(options, 'l') == NULL)
        large(report, figures);
    if (strchr(options, 'e') == NULL)
        extents(report, arena);
    if (strchr(options, 'h') == NULL)
        huge_pages(report);
    object_close(report);
}
