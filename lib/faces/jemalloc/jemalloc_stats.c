/* SPDX-License-Identifier: MIT */
/*
 * See jemalloc_stats.h. The outline is jemalloc's, as a table or as JSON, for scripts that search
 * for a line or a key; sections without a counterpart here are left out.
 */
#include "lib/faces/jemalloc/jemalloc_stats.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/compiler.h"
#include "base/os.h"
#include "base/print.h"
#include "lib/alloc/alloc.h"
#include "lib/api/api.h"
#include "lib/control/control.h"
#include "lib/faces/jemalloc/background.h"
#include "lib/faces/jemalloc/jemalloc.h"
#include "lib/faces/jemalloc/jemalloc_arena.h"
#include "lib/faces/jemalloc/jemalloc_conf.h"
#include "lib/faces/jemalloc/jemalloc_report.h"
#include "lib/faces/jemalloc/jemalloc_tcache.h"
#include "lib/faces/jemalloc/mallctl.h"
#include "lib/heap/observer.h"

void malloc_stats_print(void (*write)(void *, const char *), void *opaque, const char *options);
void je_malloc_stats_print(void (*write)(void *, const char *), void *opaque, const char *options);

/* For the words of mutexes. */
#define NODE(...)
#include "lib/faces/jemalloc/mallctl.def"
#undef NODE

static bool arena_is_there(size_t number);
static void report_json(struct report *report, const struct figures *figures, const char *options);
static void report_table(struct report *report, const struct figures *figures, const char *options);

void jemalloc_stats(void (*write)(void *opaque, const char *text), void *opaque,
                    const char *options)
{
    struct report report = {.write = write, .opaque = opaque, .first = true};
    struct figures figures;
    options = options == NULL ? "" : options;
    report.json = strchr(options, 'J') != NULL;
    print_start(&report.text, report.buffer, sizeof report.buffer);
    figures_refresh();
    figures_of(MALLCTL_ALL, &figures);
    if (report.json)
        report_json(&report, &figures, options);
    else
        report_table(&report, &figures, options);
    flush(&report);
}

EXPORT void malloc_stats_print(void (*write)(void *, const char *), void *opaque,
                               const char *options)
{
    if (init_done())
        jemalloc_stats(write != NULL ? write : jemalloc_answer, opaque, options);
}

/* What mallctl answers to a name in three parts; 0 if there is none. */
static uint64_t ask(const char *start, const char *name, const char *end)
{
    char whole[96];
    struct print text;
    uint64_t value = 0;
    size_t length = sizeof value;
    print_start(&text, whole, sizeof whole);
    print_format(&text, "%s%s%s", start, name, end);
    if (mallctl_call(print_string(&text), &value, &length, NULL, 0) == EINVAL) {
        uint32_t half = 0; /* it is an unsigned */
        length = sizeof half;
        mallctl_call(print_string(&text), &half, &length, NULL, 0);
        value = half;
    }
    return value;
}

/* Counters of a mutex, whose names in mallctl begin with `start`. */
static void mutex_json(struct report *report, const char *start, const char *mutex)
{
    static const char *const counters[] = {"num_ops",          "num_wait",        "num_spin_acq",
                                           "num_owner_switch", "total_wait_time", "max_wait_time",
                                           "max_num_thds"};
    char whole[80];
    struct print text;
    print_start(&text, whole, sizeof whole);
    print_format(&text, "%s%s.", start, mutex);
    const char *prefix = print_string(&text);
    object_open(report, mutex);
    for (size_t i = 0; i < COUNT_OF(counters); i++)
        number(report, "", counters[i], ask(prefix, counters[i], ""));
    object_close(report);
}

/* `words`: their names, with '|' between them. */
static void mutexes_json(struct report *report, const char *start, const char *words)
{
    object_open(report, "mutexes");
    for (const char *at = words; *at != '\0';) {
        char word[32];
        struct print text;
        size_t length = strcspn(at, "|");
        print_start(&text, word, sizeof word);
        print_bytes(&text, at, length);
        mutex_json(report, start, print_string(&text));
        at += length + (at[length] == '|');
    }
    object_close(report);
}

static void config_section(struct report *report)
{
    static const char *const flags[] = {"cache_oblivious",   "debug",  "fill",        "lazy_lock",
                                        "opt_safety_checks", "prof",   "prof_libgcc", "stats",
                                        "prof_libunwind",    "utrace", "xmalloc"};
    section(report, "Build-time option settings", "config");
    for (size_t i = 0; i < COUNT_OF(flags); i++) {
        char name[64];
        struct print text;
        bool value = false;
        size_t length = sizeof value;
        print_start(&text, name, sizeof name);
        print_format(&text, "config.%s", flags[i]);
        mallctl_call(print_string(&text), &value, &length, NULL, 0);
        flag(report, "config", flags[i], value);
    }
    quoted(key(report, "config", "malloc_conf"), "");
    line_end(report);
    section_end(report);
}

static void option_value(struct print *out, unsigned i)
{
    const struct jemalloc_value *value = &jemalloc_values[i];
    switch (jemalloc_options[i].kind) {
    case JEMALLOC_BOOL:
        print_text(out, value->number != 0 ? "true" : "false");
        break;
    case JEMALLOC_SIZE:
    case JEMALLOC_UNSIGNED:
    case JEMALLOC_U64:
        print_unsigned(out, value->number);
        break;
    case JEMALLOC_SSIZE:
    case JEMALLOC_I64:
        print_signed(out, (int64_t)value->number);
        break;
    case JEMALLOC_RATIO:
        print_decimal(out, value->number * 100 >> 16, 2);
        break;
    default:
        quoted(out, value->text == NULL ? "" : value->text);
        break;
    }
}

static void options_section(struct report *report)
{
    section(report, "Run-time option settings", "opt");
    for (unsigned i = 0; i < JEMALLOC_OPTIONS; i++)
        if (jemalloc_options[i].shown) {
            option_value(key(report, "opt", jemalloc_options[i].name), i);
            line_end(report);
        }
    section_end(report);
}

static void prof_section(struct report *report)
{
    int64_t rate = control_rate();
    section(report, "Profiling settings", "prof");
    flag(report, "prof", "thread_active_init", track_threads_active());
    flag(report, "prof", "active", control_active());
    flag(report, "prof", "gdump", jemalloc_state.gdump);
    number(report, "prof", "interval", jemalloc_state.interval_bytes);
    number(report, "prof", "lg_sample",
           rate <= 1 ? 0 : 63 - (uint64_t)__builtin_clzl((uint64_t)rate));
    section_end(report);
}

static void arenas_json(struct report *report)
{
    object_open(report, "arenas");
    number(report, "", "narenas", arenas_count());
    number(report, "", "quantum", GRANULE);
    number(report, "", "page", os_page_size());
    print_signed(key(report, "", "dirty_decay_ms"), (int64_t)ask("arenas.", "dirty_decay_ms", ""));
    print_signed(key(report, "", "muzzy_decay_ms"), (int64_t)ask("arenas.", "muzzy_decay_ms", ""));
    number(report, "", "tcache_max", tcache_round(jemalloc_values[JEMALLOC_tcache_max].number));
    number(report, "", "nbins", CLASS_LAST);
    number(report, "", "nhbins", CLASS_LAST);
    print_text(key(report, "", "bin"), "[");
    for (unsigned class = 1; class < CLASS_COUNT; class ++) {
        const struct size_class *c = &size_classes[class];
        size_t span = sizes_span(c);
        print_format(next(report), "%s{\"size\":%zu,\"nregs\":%u,\"slab_size\":%zu,\"nshards\":1}",
                     class == 1 ? "" : ",", class_size(class), sizes_blocks(c, c->units_min), span);
    }
    print_text(next(report), "]");
    number(report, "", "nlextents", LARGE_SIZES);
    print_text(key(report, "", "lextent"), "[");
    for (unsigned i = 0; i < LARGE_SIZES; i++)
        print_format(next(report), "%s{\"size\":%zu}", i == 0 ? "" : ",", large_size_at(i));
    print_text(next(report), "]");
    object_close(report);
}

static void settings_table(struct report *report)
{
    print_format(next(report), "Arenas: %u\nQuantum size: %d\nPage size: %zu\n", arenas_count(),
                 GRANULE, os_page_size());
    print_format(next(report),
                 "Maximum thread-cached size class: %d\nNumber of bin size classes: %d\n"
                 "Number of thread-cache bin size classes: %d\nNumber of large size classes: %d\n",
                 BLOCK_MAX, CLASS_LAST, CLASS_LAST, LARGE_SIZES);
}

static void totals_json(struct report *report, const struct figures *figures, const char *options)
{
    struct background_sums sums = background_sums();
    object_open(report, "stats");
    number(report, "", "allocated", figures->allocated);
    number(report, "", "active", figures->active);
    number(report, "", "metadata", figures->metadata);
    number(report, "", "metadata_thp", 0);
    number(report, "", "resident", figures->resident);
    number(report, "", "mapped", figures->mapped);
    number(report, "", "retained", figures->retained);
    number(report, "", "zero_reallocs", load_relaxed(&libc_zero_reallocs));
    object_open(report, "background_thread");
    number(report, "", "num_threads", sums.threads);
    number(report, "", "num_runs", sums.runs);
    number(report, "", "run_interval", sums.interval_ns);
    object_close(report);
    if (strchr(options, 'x') == NULL)
        mutexes_json(report, "stats.mutexes.", GLOBAL_MUTEXES);
    object_close(report);
}

static void totals_table(struct report *report, const struct figures *figures)
{
    struct background_sums sums = background_sums();
    print_format(next(report),
                 "Allocated: %zu, active: %zu, metadata: %zu (n_thp 0, edata 0, rtree 0), "
                 "resident: %zu, mapped: %zu, retained: %zu\n",
                 figures->allocated, figures->active, figures->metadata, figures->resident,
                 figures->mapped, figures->retained);
    print_format(next(report),
                 "Count of realloc(non-null-ptr, 0) calls: %lu\n"
                 "Background threads: %lu, num_runs: %lu, run_interval: %lu ns\n",
                 load_relaxed(&libc_zero_reallocs), sums.threads, sums.runs, sums.interval_ns);
}

static void cell(struct print *out, uint64_t value, size_t width)
{
    size_t from = print_length(out);
    print_unsigned(out, value);
    print_right(out, from, width);
}

static void size_rows(struct report *report, const struct figures *figures)
{
    static const char *const names[] = {"small:", "large:", "total:"};
    uint64_t rows[3][3] = {
        {figures->small_allocated, figures->small_allocs, figures->small_frees},
        {figures->large_allocated, figures->large_allocs, figures->large_frees},
    };
    for (unsigned column = 0; column < 3; column++)
        rows[2][column] = rows[0][column] + rows[1][column];
    print_text(next(report),
               "                            allocated         nmalloc         ndalloc\n");
    for (unsigned row = 0; row < 3; row++) {
        struct print *out = next(report);
        size_t from = print_length(out);
        print_text(out, names[row]);
        print_left(out, from, 21);
        for (unsigned column = 0; column < 3; column++)
            cell(out, rows[row][column], 16);
        print_char(out, '\n');
    }
}

static void bins_table(struct report *report, const struct figures *figures)
{
    print_text(next(report), "bins:           size ind       allocated         nmalloc"
                             "         ndalloc         curregs\n");
    for (unsigned class = 1; class < CLASS_COUNT; class ++) {
        struct figures_class sum = figures->classes[class];
        if (sum.allocs == 0)
            continue;
        struct print *out = next(report);
        cell(out, class_size(class), 20);
        cell(out, class - 1, 4);
        cell(out, (sum.allocs - sum.frees) * class_size(class), 16);
        cell(out, sum.allocs, 16);
        cell(out, sum.frees, 16);
        cell(out, sum.allocs - sum.frees, 16);
        print_char(out, '\n');
    }
}

static void large_table(struct report *report, const struct figures *figures)
{
    print_text(next(report), "large:          size ind       allocated         nmalloc"
                             "         ndalloc     curlextents\n");
    for (unsigned i = 0; i < LARGE_SIZES; i++) {
        struct large_count sum = figures->large[i];
        uint64_t live = sum.allocs > sum.frees ? sum.allocs - sum.frees : 0;
        if (sum.allocs == 0)
            continue;
        struct print *out = next(report);
        cell(out, large_size_at(i), 20);
        cell(out, CLASS_LAST + i, 4);
        cell(out, live * large_size_at(i), 16);
        cell(out, sum.allocs, 16);
        cell(out, sum.frees, 16);
        cell(out, live, 16);
        print_char(out, '\n');
    }
}

/* "arenas[1]:", or for all arenas and those that were destroyed the heading of jemalloc's. */
static void arena_heading(struct print *out, size_t number)
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

static void arena_table(struct report *report, size_t arena, const struct figures *figures,
                        const char *options)
{
    arena_heading(next(report), arena);
    print_format(next(report), "assigned threads: %lu\n", figures->threads);
    size_rows(report, figures);
    print_format(
        next(report), "active: %lu\nmapped: %lu\nretained: %lu\nbase: %lu\nresident: %lu\n",
        figures->active, figures->mapped, figures->retained, figures->metadata, figures->resident);
    if (strchr(options, 'b') == NULL)
        bins_table(report, figures);
    if (strchr(options, 'l') == NULL)
        large_table(report, figures);
}

static void sums_json(struct report *report, const char *name, uint64_t allocated, uint64_t allocs,
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

/* `start`: of the names of the arena. */
static void bins_json(struct report *report, const char *start, const struct figures *figures,
                      bool mutexes)
{
    print_text(key(report, "", "bins"), "[");
    for (unsigned class = 1; class < CLASS_COUNT; class ++) {
        struct figures_class sum = figures->classes[class];
        char whole[64];
        struct print text;
        print_start(&text, whole, sizeof whole);
        print_format(&text, "%sbins.%u.", start, class - 1);
        print_text(next(report), class == 1 ? "{" : ",{");
        report->first = true;
        number(report, "", "nmalloc", sum.allocs);
        number(report, "", "ndalloc", sum.frees);
        number(report, "", "curregs", sum.allocs - sum.frees);
        number(report, "", "nrequests", sum.allocs);
        number(report, "", "nfills", sum.fills);
        number(report, "", "nflushes", sum.flushes);
        number(report, "", "nreslabs", 0);
        number(report, "", "curslabs", sum.spans);
        if (mutexes)
            mutex_json(report, print_string(&text), "mutex");
        print_text(next(report), "}");
    }
    print_text(next(report), "]");
    report->first = false;
}

static void large_json(struct report *report, const struct figures *figures)
{
    print_text(key(report, "", "lextents"), "[");
    for (unsigned i = 0; i < LARGE_SIZES; i++) {
        struct large_count sum = figures->large[i];
        print_format(next(report), "%s{\"curlextents\":%lu}", i == 0 ? "" : ",",
                     sum.allocs > sum.frees ? sum.allocs - sum.frees : 0);
    }
    print_text(next(report), "]");
}

/* What stands in the report as mallctl tells it. */
static void arena_answers(struct report *report, const char *start)
{
    static const char *const names[] = {"tcache_bytes", "tcache_stashed_bytes", "internal",
                                        "metadata_thp", "abandoned_vm",         "extent_avail",
                                        "dirty_npurge", "dirty_nmadvise",       "dirty_purged",
                                        "muzzy_npurge", "muzzy_nmadvise",       "muzzy_purged"};
    number(report, "", "uptime_ns", ask(start, "uptime", ""));
    const char *dss = (const char *)ask(start, "dss", "");
    quoted(key(report, "", "dss"), dss == NULL ? "disabled" : dss);
    print_signed(key(report, "", "dirty_decay_ms"), (int64_t)ask(start, "dirty_decay_ms", ""));
    print_signed(key(report, "", "muzzy_decay_ms"), (int64_t)ask(start, "muzzy_decay_ms", ""));
    for (size_t i = 0; i < COUNT_OF(names); i++)
        number(report, "", names[i], ask(start, names[i], ""));
}

static void arena_json(struct report *report, size_t arena, const struct figures *figures,
                       const char *options)
{
    char digits[24];
    struct print name;
    print_start(&name, digits, sizeof digits);
    print_unsigned(&name, arena);
    object_open(report, arena == MALLCTL_ALL         ? "merged"
                        : arena == MALLCTL_DESTROYED ? "destroyed"
                                                     : print_string(&name));
    number(report, "", "nthreads", figures->threads);
    number(report, "", "pactive", figures->pages_active);
    number(report, "", "pdirty", figures->pages_dirty);
    number(report, "", "pmuzzy", 0);
    sums_json(report, "small", figures->small_allocated, figures->small_allocs,
              figures->small_frees, figures->small_fills, figures->small_flushes);
    sums_json(report, "large", figures->large_allocated, figures->large_allocs,
              figures->large_frees, 0, 0);
    number(report, "", "mapped", figures->mapped);
    number(report, "", "retained", figures->retained);
    number(report, "", "base", figures->metadata);
    number(report, "", "resident", figures->resident);
    char whole[48];
    struct print start;
    print_start(&start, whole, sizeof whole);
    print_format(&start, "stats.arenas.%zu.", arena);
    arena_answers(report, print_string(&start));
    bool mutexes = strchr(options, 'x') == NULL;
    if (mutexes)
        mutexes_json(report, whole, ARENA_MUTEXES);
    if (strchr(options, 'b') == NULL)
        bins_json(report, whole, figures, mutexes);
    if (strchr(options, 'l') == NULL)
        large_json(report, figures);
    object_close(report);
}

/* All arenas together, unless there is only one; those that were destroyed; and one by one. */
static void each_arena(struct report *report, const char *options)
{
    unsigned count = arenas_count(), used = 1;
    struct figures figures;
    for (unsigned i = 1; i < count; i++)
        used += arena_is_there(i);
    for (size_t i = 0; i < count + 2; i++) {
        size_t number = i == 0 ? MALLCTL_ALL : i == 1 ? MALLCTL_DESTROYED : i - 2;
        char without = i == 0 ? 'm' : i == 1 ? 'd' : 'a';
        if (strchr(options, without) != NULL || !figures_of(number, &figures) ||
            (i == 0 && used == 1 && !report->json) ||
            (i == 1 && figures.small_allocs + figures.large_allocs == 0) ||
            (i > 2 && !arena_is_there(number)))
            continue;
        if (report->json)
            arena_json(report, number, &figures, options);
        else
            arena_table(report, number, &figures, options);
    }
}

static bool arena_is_there(size_t number)
{
    const struct arena *arena = arena_at(number);
    return arena != NULL && load_acquire(&arena->owner) != NULL;
}

static void report_json(struct report *report, const struct figures *figures, const char *options)
{
    print_text(next(report), "{");
    object_open(report, "jemalloc");
    if (strchr(options, 'g') == NULL) {
        quoted(key(report, "", "version"), JEMALLOC_COMPATIBLE_VERSION);
        config_section(report);
        options_section(report);
        prof_section(report);
        arenas_json(report);
    }
    totals_json(report, figures, options);
    object_open(report, "stats.arenas");
    each_arena(report, options);
    object_close(report);
    object_close(report);
    print_text(next(report), "}\n");
}

static void report_table(struct report *report, const struct figures *figures, const char *options)
{
    print_text(next(report), "___ Begin jemalloc statistics ___\n");
    if (strchr(options, 'g') == NULL) {
        print_format(next(report), "Version: \"%s\"\n", JEMALLOC_COMPATIBLE_VERSION);
        config_section(report);
        options_section(report);
        prof_section(report);
        settings_table(report);
    }
    totals_table(report, figures);
    each_arena(report, options);
    print_text(next(report), "--- End jemalloc statistics ---\n");
}

EXPORT void je_malloc_stats_print(void (*write)(void *, const char *), void *opaque,
                                  const char *options) __attribute__((alias("malloc_stats_print")));
