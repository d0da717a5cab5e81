/* SPDX-License-Identifier: MIT */
/*
 * malloc_stats_print without the letter J: an arena and its locks, with jemalloc's headings and
 * columns, which scripts cut the lines by. There is no section about a huge page allocator.
 */
#include <string.h>

#include "base/os.h"
#include "lib/faces/jemalloc/jemalloc_arena.h"
#include "lib/faces/jemalloc/jemalloc_stats_sections.h"
#include "lib/faces/jemalloc/mallctl.h"

/* For the words of mutexes. */
#define NODE(...)
#include "lib/faces/jemalloc/mallctl.def"
#undef NODE

struct column {
    char heading[15]; /* not a pointer, which the loader would write at each start */
    uint8_t width;
};
enum { LABEL = 21 }; /* columns before the first number */

#define RATE "(#/sec)"
static const struct column mutex_columns[] = {
    {"n_lock_ops", 16},    {RATE, 8},  {"n_waiting", 16},      {RATE, 8},
    {"n_spin_acq", 16},    {RATE, 8},  {"n_owner_switch", 16}, {RATE, 8},
    {"total_wait_ns", 16}, {RATE, 10}, {"max_wait_ns", 16},    {"max_n_thds", 12},
};

static void label(struct print *out, const char *text, unsigned width);
static void headings(struct print *out, const struct column *columns, size_t count);
static void mutex_cells(struct print *out, const char *start, uint64_t uptime_ns);

void table_mutexes(struct report *report, const char *start, const char *words, uint64_t uptime_ns)
{
    char buffer[32], whole[80];
    struct print word, prefix, *out = next(report);
    label(out, "", LABEL);
    headings(out, mutex_columns, COUNT_OF(mutex_columns));
    print_char(out, '\n');
    print_start(&word, buffer, sizeof buffer);
    while (stats_word(&words, &word)) {
        print_start(&prefix, whole, sizeof whole);
        print_format(&prefix, "%s%s.", start, print_string(&word));
        out = next(report);
        label(out, buffer, LABEL);
        mutex_cells(out, print_string(&prefix), uptime_ns);
        print_char(out, '\n');
        print_start(&word, buffer, sizeof buffer);
    }
}

static void text_cell(struct print *out, const char *text, unsigned width)
{
    size_t from = print_length(out);
    print_text(out, text);
    print_right(out, from, width);
}

static void cell(struct print *out, uint64_t value, unsigned width)
{
    size_t from = print_length(out);
    print_unsigned(out, value);
    print_right(out, from, width);
}

static void label(struct print *out, const char *text, unsigned width)
{
    size_t from = print_length(out);
    print_text(out, text);
    print_left(out, from, width);
}

static void headings(struct print *out, const struct column *columns, size_t count)
{
    for (size_t i = 0; i < count; i++)
        text_cell(out, columns[i].heading, columns[i].width);
}

/* As in jemalloc: all of it in the first second. */
static uint64_t per_second(uint64_t value, uint64_t uptime_ns)
{
    uint64_t seconds = uptime_ns / 1000000000;
    return uptime_ns == 0 ? 0 : seconds == 0 ? value : value / seconds;
}

/* One of `values` for each column but those of rates, which are of the number before them. */
static void cells(struct print *out, const struct column *columns, size_t count,
                  const uint64_t *values, uint64_t uptime_ns)
{
    uint64_t value = 0;
    for (size_t i = 0; i < count; i++) {
        bool rate = columns[i].heading[0] == RATE[0];
        value = rate ? per_second(value, uptime_ns) : *values++;
        cell(out, value, columns[i].width);
    }
}

static void mutex_cells(struct print *out, const char *start, uint64_t uptime_ns)
{
    uint64_t values[MUTEX_COUNTERS];
    for (size_t i = 0; i < MUTEX_COUNTERS; i++)
        values[i] = stats_ask(start, mutex_counters[i]);
    cells(out, mutex_columns, COUNT_OF(mutex_columns), values, uptime_ns);
}

/* "arenas[1]:", or for all arenas and those that were destroyed the heading of jemalloc's. */
static void heading(struct print *out, size_t number)
{
    const struct arena *arena = arena_at(number);
    if (number == MALLCTL_ALL)
        print_text(out, "Merged arenas stats:\n");
    else if (number == MALLCTL_DESTROYED)
        print_text(out, "Destroyed arenas stats:\n");
    else
        print_format(out, "arenas[%zu]:\nName: %s\n", number,
                     number == 0     ? "memoir"
                     : arena == NULL ? ""
                                     : arena->name);
}

static void decay(struct report *report, const char *start, const char *kind, bool one,
                  uint64_t pages)
{
    static const char *const names[] = {"npurge", "nmadvise", "purged"};
    struct print *out = next(report);
    char whole[80];
    struct print prefix;
    print_start(&prefix, whole, sizeof whole);
    print_format(&prefix, "%s%s_", start, kind);
    print_format(out, "   %s:", kind);
    size_t from = print_length(out);
    if (one)
        print_signed(out, (int64_t)stats_ask(print_string(&prefix), "decay_ms"));
    else
        print_text(out, "N/A");
    print_right(out, from, 6);
    cell(out, pages, 13);
    for (size_t i = 0; i < COUNT_OF(names); i++)
        cell(out, stats_ask(print_string(&prefix), names[i]), 13);
    print_char(out, '\n');
}

static void sums(struct report *report, const struct figures *f, uint64_t uptime_ns)
{
    static const struct column columns[] = {
        {"allocated", 16}, {"nmalloc", 16},   {RATE, 10}, {"ndalloc", 16},
        {RATE, 10},        {"nrequests", 16}, {RATE, 10}, {"nfill", 16},
        {RATE, 10},        {"nflush", 16},    {RATE, 10},
    };
    enum { SUMS = 6 };
    static const char *const names[] = {"small:", "large:", "total:"};
    uint64_t rows[3][SUMS] = {
        {f->small_allocated, f->small_allocs, f->small_frees, f->small_allocs, f->small_fills,
         f->small_flushes},
        {f->large_allocated, f->large_allocs, f->large_frees, f->large_allocs, 0, 0},
    };
    for (unsigned i = 0; i < SUMS; i++)
        rows[2][i] = rows[0][i] + rows[1][i];
    struct print *out = next(report);
    label(out, "", LABEL);
    headings(out, columns, COUNT_OF(columns));
    print_char(out, '\n');
    for (unsigned row = 0; row < 3; row++) {
        out = next(report);
        label(out, names[row], LABEL);
        cells(out, columns, COUNT_OF(columns), rows[row], uptime_ns);
        print_char(out, '\n');
    }
}

static void memory(struct report *report, const char *start, const struct figures *figures)
{
    static const char *const names[] = {
        "active",   "mapped",       "retained",     "base",
        "internal", "metadata_thp", "tcache_bytes", "tcache_stashed_bytes",
        "resident", "abandoned_vm", "extent_avail"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct print *out = next(report);
        size_t from = print_length(out);
        print_format(out, "%s:", names[i]);
        print_left(out, from, LABEL);
        cell(out, i == 0 ? figures->active : stats_ask(start, names[i]), 16);
        print_char(out, '\n');
    }
}

/* Sizes that are left out have one line together. */
static void gap(struct report *report, bool *open)
{
    if (*open)
        print_text(next(report), "                     ---\n");
    *open = false;
}

static void first_heading(struct print *out, const char *name)
{
    size_t from = print_length(out);
    print_text(out, name);
    print_left(out, from, LABEL - 5);
    print_text(out, "size ind");
}

static void share(struct print *out, uint64_t part, uint64_t whole)
{
    size_t from = print_length(out);
    if (part >= whole)
        print_char(out, '1');
    else
        print_decimal(out, part * 1000 / whole, 3);
    print_right(out, from, 7);
}

static void bins(struct report *report, size_t arena, const char *start,
                 const struct figures *figures, bool mutexes, uint64_t uptime_ns)
{
    static const struct column before[] = {
        {"allocated", 13},     {"nmalloc", 13}, {RATE, 8},      {"ndalloc", 13}, {RATE, 8},
        {"nrequests", 13},     {RATE, 10},      {"nshards", 9}, {"curregs", 13}, {"curslabs", 13},
        {"nonfull_slabs", 15}, {"regs", 5},     {"pgs", 4},
    };
    static const struct column behind[] = {{"nfills", 13}, {RATE, 8},      {"nflushes", 13},
                                           {RATE, 8},      {"nslabs", 13}, {"nreslabs", 13},
                                           {RATE, 8}};
    uint64_t nonfull[CLASS_COUNT];
    bool skipped = false;
    struct print *out = next(report);
    figures_nonfull(arena, nonfull);
    first_heading(out, "bins:");
    headings(out, before, COUNT_OF(before));
    text_cell(out, "util", 7);
    headings(out, behind, COUNT_OF(behind));
    headings(out, mutex_columns, mutexes ? COUNT_OF(mutex_columns) : 0);
    print_char(out, '\n');
    for (unsigned class = 1; class < CLASS_COUNT; class ++) {
        struct figures_class sum = figures->classes[class];
        const struct size_class *c = &size_classes[class];
        uint64_t live = sum.allocs - sum.frees, blocks = sizes_blocks(c, c->units_min);
        if (sum.allocs == 0) {
            skipped = true;
            continue;
        }
        gap(report, &skipped);
        out = next(report);
        cell(out, class_size(class), LABEL - 1);
        cell(out, class - 1, 4);
        cells(out, before, COUNT_OF(before),
              (uint64_t[]){live * class_size(class), sum.allocs, sum.frees, sum.allocs, 1, live,
                           sum.spans, nonfull[class], blocks, sizes_span(c) / os_page_size()},
              uptime_ns);
        share(out, live, blocks * sum.spans);
        cells(out, behind, COUNT_OF(behind), (uint64_t[]){sum.fills, sum.flushes, sum.made, 0},
              uptime_ns);
        if (mutexes) {
            char whole[80];
            struct print prefix;
            print_start(&prefix, whole, sizeof whole);
            print_format(&prefix, "%sbins.%u.mutex.", start, class - 1);
            mutex_cells(out, print_string(&prefix), uptime_ns);
        }
        print_char(out, '\n');
    }
    gap(report, &skipped);
}

static void large(struct report *report, const struct figures *figures, uint64_t uptime_ns)
{
    static const struct column columns[] = {
        {"allocated", 13}, {"nmalloc", 13},   {RATE, 8}, {"ndalloc", 13},
        {RATE, 8},         {"nrequests", 13}, {RATE, 8}, {"curlextents", 13}};
    bool skipped = false;
    struct print *out = next(report);
    first_heading(out, "large:");
    headings(out, columns, COUNT_OF(columns));
    print_char(out, '\n');
    for (unsigned i = 0; i < LARGE_SIZES; i++) {
        struct large_count sum = figures->large[i];
        uint64_t live = sum.allocs > sum.frees ? sum.allocs - sum.frees : 0;
        if (sum.allocs == 0) {
            skipped = true;
            continue;
        }
        gap(report, &skipped);
        out = next(report);
        cell(out, large_size_at(i), LABEL - 1);
        cell(out, CLASS_LAST + i, 4);
        cells(out, columns, COUNT_OF(columns),
              (uint64_t[]){live * large_size_at(i), sum.allocs, sum.frees, sum.allocs, live},
              uptime_ns);
        print_char(out, '\n');
    }
    gap(report, &skipped);
}

static void extents(struct report *report, size_t arena)
{
    static const struct column columns[] = {{"ndirty", 13}, {"dirty", 13},     {"nmuzzy", 13},
                                            {"muzzy", 13},  {"nretained", 13}, {"retained", 13},
                                            {"ntotal", 13}, {"total", 13}};
    struct extent_counts counts;
    bool skipped = false;
    struct print *out = next(report);
    figures_extents(arena, &counts);
    first_heading(out, "extents:");
    headings(out, columns, COUNT_OF(columns));
    print_char(out, '\n');
    for (unsigned i = 0; i < EXTENT_SIZES; i++) {
        struct extent_count dirty = counts.dirty[i], retained = counts.retained[i];
        if (dirty.runs + retained.runs == 0) {
            skipped = true;
            continue;
        }
        gap(report, &skipped);
        out = next(report);
        cell(out, extent_size_at(i), LABEL - 1);
        cell(out, i, 4);
        cells(out, columns, COUNT_OF(columns),
              (uint64_t[]){dirty.runs, dirty.bytes, 0, 0, retained.runs, retained.bytes,
                           dirty.runs + retained.runs, dirty.bytes + retained.bytes},
              0);
        print_char(out, '\n');
    }
    gap(report, &skipped);
}

void table_arena(struct report *report, size_t arena, const struct figures *figures,
                 const char *options)
{
    char whole[48];
    struct print start;
    print_start(&start, whole, sizeof whole);
    print_format(&start, "stats.arenas.%zu.", arena);
    const char *prefix = print_string(&start);
    uint64_t uptime_ns = stats_ask(prefix, "uptime");
    bool one = arena != MALLCTL_ALL && arena != MALLCTL_DESTROYED;
    const char *dss = one ? (const char *)stats_ask(prefix, "dss") : "N/A";
    heading(next(report), arena);
    print_format(next(report), "assigned threads: %lu\nuptime: %lu\n", figures->threads, uptime_ns);
    print_format(next(report), "dss allocation precedence: \"%s\"\n", dss == NULL ? "N/A" : dss);
    print_text(next(report),
               "decaying:  time       npages       sweeps     madvises       purged\n");
    decay(report, prefix, "dirty", one, figures->pages_dirty);
    decay(report, prefix, "muzzy", one, 0);
    sums(report, figures, uptime_ns);
    memory(report, prefix, figures);
    bool mutexes = strchr(options, 'x') == NULL;
    if (mutexes)
        table_mutexes(report, prefix, ARENA_MUTEXES, uptime_ns);
    if (strchr(options, 'b') == NULL)
        bins(report, arena, prefix, figures, mutexes, uptime_ns);
    if (strchr(options, 'l') == NULL)
        large(report, figures, uptime_ns);
    if (strchr(options, 'e') == NULL)
        extents(report, arena);
}
